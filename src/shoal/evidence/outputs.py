"""The files that a sweep writes: their names, by a pattern with {k} and {method}, and what stands in their way."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from shoal.errors import FileError, PlanError
from shoal.pipeline.manifest import manifest_beside
from shoal.pipeline.save import plan_beside, refuse_output
from shoal.text import counted

Of = tuple[str, int]  # a method and a k


def output_paths(pattern: str, methods: Sequence[str], sizes: Sequence[int]) -> dict[Of, Path]:
    """Return the file of every method and k; k = 1 has none, because it protects nothing.

    Raises
    ------
    PlanError
        If two of them would have the same name, or the pattern asks for something else than k and method.
    """
    written = [k for k in sizes if k > 1]
    if not written:
        raise PlanError([("k", "1 protects nothing, and is never written. Add a larger k, for example -k 3-10.")])
    if problems := [("output", problem) for problem in _problems(pattern, methods, written)]:
        raise PlanError(problems)
    return {
        (method, k): Path(pattern.replace("{k}", str(k)).replace("{method}", method))
        for method in methods
        for k in written
    }


def _problems(pattern: str, methods: Sequence[str], sizes: Sequence[int]) -> Iterable[str]:
    fields = re.findall(r"\{([^{}]*)\}", pattern)
    unknown = [field for field in fields if field not in ("k", "method")]
    if unknown:
        yield f"has {{{unknown[0]}}}, which stands for nothing. Use {{k}} and {{method}}."
    elif set(re.sub(r"\{(k|method)\}", "", pattern)) & {"{", "}"}:
        yield "has a brace without its other half. Use {k} and {method}."
    if len(sizes) > 1 and "k" not in fields:
        yield "must contain {k}, so that each k has its own file, for example -o 'masked-{k}.csv'."
    if len(methods) > 1 and "method" not in fields:
        yield "must contain {method}, so that each method has its own files, for example -o '{method}-{k}.csv'."


def refuse_outputs(source: str | None, paths: Sequence[Path], overwrite: bool) -> None:
    """Refuse what cannot be written or exists already, before any work is done and any file is written."""
    for path in paths:
        refuse_output(source, path, overwrite=True)
    if overwrite:
        return
    beside = [each for path in paths for each in (path, plan_beside(path), manifest_beside(path))]
    existing = [each for each in beside if os.path.lexists(each)]  # also a link that leads nowhere
    if existing:
        more = f" and {counted(len(existing) - 1, 'more file')}" if len(existing) > 1 else ""
        verb = "exist" if more else "exists"
        raise FileError(
            f"'{existing[0]}'{more} already {verb}, so nothing was written. Choose another pattern or add --overwrite "
            "(in Python overwrite=True)."
        )
