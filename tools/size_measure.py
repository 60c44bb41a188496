"""The figures of tools/size.py that need a run: modules and changes of room, and bytes read on engine ``file``."""

import csv
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

COMMAND = """
import sys
from shoal.cli import app
app(sys.argv[1:], standalone_mode=False)
print(open("/proc/self/io").read().split()[1], file=sys.stderr)
"""


def changes_of_room() -> dict[str, int]:
    """Count the modules and the changes of room in one release in memory.

    The release is the second call of ``shoal.protect`` on a CSV file of 50 records. The file has a name, two numbers
    and a town, and a sensitive flag. A module is a file below ``src/shoal`` in which a function runs, in any thread.
    A change of room is a call or a return between functions in different rooms. Frames outside Shoal are skipped, so
    the caller is the nearest frame of Shoal. A first call in a thread has no such caller and counts as well.
    """
    import shoal

    package = Path(shoal.__file__).parent
    modules: set[str] = set()
    changes: list[None] = []  # one entry a change: append is atomic across threads

    def room(frame: FrameType) -> str:
        parts = Path(frame.f_code.co_filename).relative_to(package).parts
        return parts[0] if len(parts) > 1 else "shoal"

    def inside(frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(str(package))

    def note(frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return") or not inside(frame):
            return
        modules.add(frame.f_code.co_filename)
        caller = frame.f_back
        while caller is not None and not inside(caller):
            caller = caller.f_back
        if caller is None or room(caller) != room(frame):
            changes.append(None)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        with path.open("w", newline="") as file:
            rows = [(f"p{i}", 18 + 37 * i % 60, 1000 + 613 * i % 4000, "ABC"[i * i % 3], i % 2) for i in range(50)]
            csv.writer(file).writerows([("name", "age", "income", "town", "ill"), *rows])
        roles: dict[str, Any] = {"quasi": ["age", "income", "town"], "confidential": ["ill"], "identifiers": ["name"]}
        shoal.protect(path, k=3, **roles)
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            shoal.protect(path, k=3, **roles)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return {"modules": len(modules), "changes of room": len(changes)}


def bytes_read(root: Path, records: int = 100_000, few: int = 200) -> dict[str, str]:
    """Return the bytes that ``shoal protect --engine file`` reads, over the bytes of its input.

    The input has four columns of seeded normal numbers with three decimals. `rchar` in /proc/self/io counts the reads
    of the process, temporary files included. A run on a few records measures the imports, which are subtracted.
    """
    if not Path("/proc/self/io").exists():
        return {"needs /proc/self/io, which only Linux has": "-"}
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    def run(path: Path, rows: int) -> tuple[int, int]:
        draws = np.random.default_rng(0).normal(size=(4, rows)).round(3)
        write = pyarrow.csv.write_csv if path.suffix == ".csv" else pyarrow.parquet.write_table
        write(pa.table(dict(zip("abcd", draws, strict=True))), path)
        output = path.with_stem(path.stem + "-masked")
        options = ["-k", "5", "--quasi", "a,b,c", "--confidential", "d", "--engine", "file", "-o", str(output)]
        command = [sys.executable, "-c", COMMAND, "protect", str(path), *options]
        env = os.environ | {"PYTHONPATH": str(root / "src")}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return int(done.stderr.split()[-1]), path.stat().st_size

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("csv", "parquet"):
            read, held = run(Path(folder) / f"many.{kind}", records)
            before, small = run(Path(folder) / f"few.{kind}", few)
            found[f"{kind} of {held / 1e6:.1f} MB"] = f"{(read - before) / (held - small):.1f}"
    return found
