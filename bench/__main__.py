"""Runs every benchmark: `python -m bench`, or one of them: `python -m bench.mdav`."""

import subprocess
import sys
from pathlib import Path

for script in sorted(Path(__file__).parent.glob("[!_]*.py")):
    if "__main__" not in script.read_text():  # what the others share
        continue
    print(f"\n=== bench.{script.stem}", flush=True)
    subprocess.run([sys.executable, "-m", f"bench.{script.stem}"], check=True)
