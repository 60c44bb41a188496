"""Fuzz one target after another, and say how many inputs were run and which of them found something."""

import argparse
import os
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz.oracle import SECRET
from fuzz.targets import TARGETS, Target

_ROOT = Path(__file__).parents[1]
_LIMITS = ("-timeout=30", "-rss_limit_mb=4096", "-max_len=4096", "-verbosity=1", "-print_final_stats=1")


def main() -> int:
    """Fuzz; the exit code is the number of targets that found something."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TARGETS)}; all of them if left out")
    parser.add_argument("--seconds", type=int, default=600, help="for each target, or for all releases")
    parser.add_argument("--runs", type=int, default=-1, help="for each target, whatever comes first")
    parser.add_argument("--seed", type=int, default=0, help="0 for a fresh one")
    parser.add_argument("--releases", type=int, help="make so many releases of random tables and valid plans instead")
    parser.add_argument("--spark", type=int, default=0, help="with --releases, so many more on Spark")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="with --releases, processes")
    parser.add_argument("--coverage", action="store_true", help="with --releases, count the fields of their plans")
    parser.add_argument("--finds", type=Path, default=Path("fuzz-finds"), help="where inputs that found something go")
    arguments = parser.parse_args()
    unknown = {*arguments.names} - {*TARGETS}
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    if arguments.releases is not None:
        from fuzz.counting import count_releases

        seed = arguments.seed or secrets.randbits(32)
        print(f"seed {seed}", flush=True)
        found_none = count_releases(
            arguments.releases,
            seed,
            arguments.finds,
            arguments.spark,
            arguments.seconds,
            arguments.jobs,
            coverage=arguments.coverage,
        )
        return int(not found_none)
    options = [f"-max_total_time={arguments.seconds}", f"-runs={arguments.runs}", f"-seed={arguments.seed}"]
    return sum(not fuzz(name, TARGETS[name], arguments.finds, options) for name in arguments.names or TARGETS)


def fuzz(name: str, target: Target, finds: Path, options: list[str]) -> bool:
    """Fuzz one target from its seeds; says whether nothing was found."""
    finds.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for number, content in enumerate(target.start()):
            (corpus / f"seed-{number}").write_bytes(content)
        words = Path(folder, "words")
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in (*target.words, SECRET)))  # it may not be empty
        command = [sys.executable, "-m", "fuzz.fuzzing", name, str(corpus), f"-artifact_prefix={finds}/{name}-"]
        command += [f"-dict={words}", *_LIMITS, *options]
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "TMPDIR": folder, "PYTHONPATH": path}
        child = subprocess.run(command, capture_output=True, env=environment, check=False)
        kept = len(list(corpus.iterdir()))
    said = child.stderr.decode(errors="replace") + child.stdout.decode(errors="replace")
    runs = re.search(r"number_of_executed_units:\s*(\d+)", said)
    print(f"{name}: {runs[1] if runs else 'an unknown number of'} executions, {kept} inputs that lead somewhere new")
    if child.returncode:
        print(_found(said))
    return child.returncode == 0


def _found(said: str) -> str:
    """Give the error without what libraries say when a process ends, or the last that libFuzzer said."""
    error = re.search(r"=== Uncaught Python exception: ===.*?\n\n", said + "\n\n", re.DOTALL)
    return error[0] if error else "\n".join(re.sub(r"(?m)^(INFO:|#\d+|nanobind| - ).*\n", "", said).splitlines()[-40:])


def _escaped(word: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "".join(f"\\x{b:02x}" for b in c.encode()) for c in word)


if __name__ == "__main__":
    raise SystemExit(main())
