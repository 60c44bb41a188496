"""Commands run for a service account: no home, no name, nothing that it may write but the folder of the output.

The commands see a file system of their own, made of read-only views of this one and one folder to write. Nothing of it
is seen outside of the namespace, and it goes with it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.expect import prints

ROOT = Path(__file__).parents[1]
NOBODY = 65534
VIEW = """
set -eu
root=$1 output=$2
shift 2
mount -t tmpfs -o mode=755 none "$root"
for each in /usr /bin /sbin /lib /lib32 /lib64 "$@"; do
  [ -e "$each" ] && [ ! -e "$root$each" ] || continue
  if [ -L "$each" ]; then cp -P "$each" "$root$each"; continue; fi
  mkdir -p "$root$each"
  mount --bind "$each" "$root$each"
  mount -o remount,bind,ro "$root$each"
done
mkdir "$root/output" "$root/dev" "$root/proc"
mount --bind "$output" "$root/output"
mount --bind /dev "$root/dev"
mount --bind /proc "$root/proc"
mount -o remount,ro "$root"
exec chroot --userspec=NOBODY:NOBODY --groups= "$root" \\
  env -i -C /output PATH=/usr/bin PYTHONPATH="$SOURCE" "$PYTHON" -c "$SCRIPT"
""".replace("NOBODY", str(NOBODY))
COMMANDS = """
import os, sys
from pathlib import Path
from shoal import cli

def run(*arguments, code=0):
    sys.argv = ["shoal", *arguments]
    try:
        cli.main()
    except SystemExit as ended:
        assert (ended.code or 0) == code, arguments

for place in ("/", "/tmp", "/usr", os.path.dirname(cli.__file__), os.path.expanduser("~")):
    assert not os.access(place, os.W_OK), place
rows = [f"{20 + i},{1000 + 7 * i * i},{i % 3}" for i in range(40)]
Path("people.csv").write_text("\\n".join(["age,wages,illness", *rows]) + "\\n")
roles = ("--quasi", "age,wages", "--confidential", "illness")
run("protect", "people.csv", "-k", "3", *roles, "-o", "masked.csv", "--report", "report.html")
run("protect", "people.csv", "-k", "3", *roles, "--engine", "file", "-o", "large.parquet")
run("assess", "people.csv", "masked.csv", "--quasi", "age,wages")
run("sweep", "people.csv", "-k", "3-5", *roles)
run("demo")
hybrid = ("protect", "people.csv", "-k", "10", *roles, "--method", "hybrid", "-o", "hybrid.csv")
run(*hybrid, code=2)
assert not Path("hybrid.csv").exists()
os.environ["SHOAL_SECRET"] = "./secret"
run(*hybrid)
"""


def test_commands_need_neither_a_home_nor_anything_to_write_but_the_output(tmp_path):
    if os.geteuid() or subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]).returncode:
        pytest.skip("a file system of one's own needs root (unshare -m)")
    view, output = tmp_path / "view", tmp_path / "output"
    view.mkdir()
    output.mkdir()
    os.chown(output, NOBODY, NOBODY)
    seen = [ROOT / "src", sys.prefix, sys.base_prefix]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", VIEW, "sh", view, output, *seen],
        env={**os.environ, "SOURCE": str(ROOT / "src"), "PYTHON": sys.executable, "SCRIPT": COMMANDS},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert prints(done.stderr, "no-home-for-secret")
    assert not any(view.iterdir())
    files = {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}
    assert {"masked.csv", "report.html", "large.parquet", "shoal-demo/report.html", "hybrid.csv", "secret"} <= files
    assert not [name for name in files if Path(name).name.startswith(".")]  # no caches, no drafts
