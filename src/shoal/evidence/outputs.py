"""The files that a sweep writes: their names, by a pattern with {k} and {method}, and what stands in their way."""

import os
import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from shoal.errors import FileError, PlanError
from shoal.messages import Message
from shoal.pipeline.manifest import manifest_beside
from shoal.pipeline.save import plan_beside, refuse_output

Of = tuple[str, int]  # a method and a k

_PLACEHOLDERS = ("{k}", "{method}")


def output_paths(pattern: str, methods: Sequence[str], sizes: Sequence[int]) -> dict[Of, Path]:
    """Return the file of every method and k; k = 1 has none, because it protects nothing.

    Raises
    ------
    PlanError
        If two of them would have the same name, or the pattern asks for something else than k and method.
    """
    written = [k for k in sizes if k > 1]
    if not written:
        raise PlanError("no-release-of-1", field="k")
    if problems := [*_problems(pattern, methods, written)]:
        raise PlanError(*problems)
    return {
        (method, k): Path(pattern.replace("{k}", str(k)).replace("{method}", method))
        for method in methods
        for k in written
    }


def _problems(pattern: str, methods: Sequence[str], sizes: Sequence[int]) -> Iterable[Message]:
    fields = re.findall(r"\{([^{}]*)\}", pattern)
    unknown = [field for field in fields if field not in ("k", "method")]
    if unknown:
        yield Message("unknown-placeholder", field="output", name=f"{{{unknown[0]}}}", known=_PLACEHOLDERS)
    elif set(re.sub(r"\{(k|method)\}", "", pattern)) & {"{", "}"}:
        yield Message("lone-brace", field="output", known=_PLACEHOLDERS)
    lacks = partial(Message, "output-without-placeholder", field="output")
    if len(sizes) > 1 and "k" not in fields:
        yield lacks(name="{k}", what="k", example="masked-{k}.csv")
    if len(methods) > 1 and "method" not in fields:
        yield lacks(name="{method}", what="method", example="{method}-{k}.csv")


def refuse_outputs(source: str | None, paths: Sequence[Path], overwrite: bool) -> None:
    """Refuse what cannot be written or exists already, before any work is done and any file is written."""
    for path in paths:
        refuse_output(source, path, overwrite=True)
    if overwrite:
        return
    beside = [each for path in paths for each in (path, plan_beside(path), manifest_beside(path))]
    existing = [each for each in beside if os.path.lexists(each)]  # also a link that leads nowhere
    if existing:
        raise FileError("file-exists", path=str(existing[0]), more=len(existing) - 1)
