"""Nothing goes over a network at run time: every command works without one, and none tries.

The commands run in a network namespace of their own, which has no route anywhere. The system counts there what any
library tries, in whatever language it is written: each packet that has nowhere to go.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COUNTERS = """
import socket, sys
from pathlib import Path

def attempts():
    # 'Ip: <names>' and 'Ip: <values>'; the sixth version of the protocol has one line for each counter.
    names, values = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:")]
    newer = [line.split()[1] for line in Path("/proc/net/snmp6").read_text().splitlines() if "OutNoRoutes" in line]
    return int(values[names.index("OutNoRoutes")]) + sum(map(int, newer))
"""
COMMANDS = """
from shoal import Plan, cli, protect_file

def run(*arguments):
    sys.argv = ["shoal", *arguments]
    try:
        cli.main()
    except SystemExit as ended:
        assert not ended.code, arguments

rows = [f"{20 + i},{1000 + 7 * i * i},{2 * i},{1000 + 7 * i * i + 2 * i},{'NSEW'[i % 4]}" for i in range(40)]
Path("people.csv").write_text("\\n".join(["age,wages,other,costs,region", *rows]) + "\\n")
Path("rules.txt").write_text("sum: wages + other == costs\\n")
quasi = ("--quasi", "age,wages,other,costs")
roles = (*quasi, "--publish", "region")
for kind in ("csv", "parquet", "xlsx", "sav", "xml"):
    run("protect", "people.csv", "-k", "3", *roles, "--edits", "rules.txt", "-o", f"masked-{kind}.{kind}")
run("protect", "people.csv", "-k", "3", "--publish-rest", "-o", "reported.csv", "--report", "report.html")
run("sweep", "people.csv", "-k", "3-5", *roles)
run("edits", "people.csv", "rules.txt")
run("check", "masked-csv.csv", "-k", "3", *quasi, "--edits", "rules.txt")
run("assess", "people.csv", "masked-csv.csv", *quasi)
run("risk", "people.csv", "--keys", "region,age", "--weights", "wages")
run("demo")
large = {"input": "masked-parquet.parquet", "output": "large.parquet", "scale": {"block_size": 20}}
protect_file(Plan(k=3, quasi=["age"], publish="rest", **large))
"""


def without_network(script: str, folder: Path) -> int:
    """Run a script where there is no network; return how often something was sent all the same."""
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        pytest.skip("this system gives nobody a network of their own (unshare -rn)")
    script = f"{COUNTERS}{script}\nprint('attempts:', attempts())"
    done = subprocess.run(
        ["unshare", "-rn", sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return int(done.stdout.rsplit("attempts:", 1)[1])


def test_every_command_works_without_a_network_and_none_tries(tmp_path):
    assert without_network(COMMANDS, tmp_path) == 0
    assert (tmp_path / "shoal-demo" / "report.html").exists()


def test_what_tries_is_counted(tmp_path):
    looking = "import urllib.request\ntry: urllib.request.urlopen('http://192.0.2.1')\nexcept OSError: pass"
    assert without_network(looking, tmp_path) > 0
    asking = "try: socket.getaddrinfo('example.org', 80)\nexcept OSError: pass"
    assert without_network(asking, tmp_path) > 0
