"""The Containerfile, step by step, as processes: what it installs, its user, its read-only root, its health check.

There need not be a container runtime: the root of an image is an overlay over the root of this machine, in a namespace
of its own, so that every path is the one in the file and nothing of it is left.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

from tests.app.clients import SECRET, Client, free_port
from tests.app.test_service import CSV, ROOT, instruction, until_healthy

SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FILE = ROOT / "Containerfile"
MOUNTS = """
set -e
mount -t tmpfs -o size=6g tmpfs "$0"
for image in build final; do
    mkdir -p "$0/$image/upper" "$0/$image/work" "$0/$image/root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$0/$image/upper,workdir=$0/$image/work" "$0/$image/root"
    mount --rbind /proc "$0/$image/root/proc"
    mount --rbind /dev "$0/$image/root/dev"
    ln -sf "$1" "$0/$image/root/usr/local/bin/python"
done
echo mounted
exec sleep infinity
"""


def steps(name: str, stage: int) -> list[str]:
    """The instructions of a name in a stage of the file, without those that install packages of Debian."""
    text = re.sub(r"\\\n", " ", FILE.read_text())
    text = re.split(r"^FROM .*$", text, flags=re.MULTILINE)[stage]
    return [each for each in re.findall(rf"^{name} (.*)$", text, re.MULTILINE) if not each.startswith("apt-get")]


class Images:
    """Both images of the file, in a namespace that ends with this process."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTS, folder, python]
        self.holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.holder.stdout.readline() != "mounted\n":
            self.holder.wait()
            pytest.skip("this machine does not let root mount an overlay in a namespace")

    def outside(self, *command: str) -> list[str]:
        """A command in the namespace, with the root of this machine."""
        return ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", *map(str, command)]

    def inside(self, image: str, *command: str) -> list[str]:
        """A command with the root of an image."""
        return self.outside("chroot", self.folder / image / "root", *command)

    def as_user(self, *command: str) -> list[str]:
        """A command as the container runs it: its user and its variables, no rights, no way to get any."""
        user, group = instruction("USER").split(":")
        rights = [f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
        variables = instruction("ENV").replace("$PATH", SYSTEM).split()
        return self.inside("final", "setpriv", *rights, "--inh-caps=-all", "env", "-i", *variables, *command)


def run(command: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=3600, **options)


def base_image() -> str:
    """The Python of this machine that stands for the one of the base image; everyone can run it."""
    version = re.search(r"^FROM python:([\d.]+)-slim$", FILE.read_text(), re.MULTILINE)[1]
    python = shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin")
    if python is None or run([python, "-c", "import ensurepip, venv"]).returncode != 0:
        pytest.skip(f"there is no Python {version} with venv for everyone: apt-get install python3-venv")
    return python


@pytest.fixture
def images(tmp_path):
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a root for others, on Linux")
    for tool in ("unshare", "nsenter", "setpriv", "c++", "git"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    made = Images(tmp_path, base_image())
    try:
        yield made
    finally:
        made.holder.kill()
        made.holder.wait()


def build(images: Images) -> None:
    """Carry out the instructions of both stages, then make the root read-only but for /tmp."""
    build, final = (images.folder / name / "root" for name in ("build", "final"))
    assert steps("COPY", 1) == [". /source"]
    ignored = (ROOT / ".containerignore").read_text().split()
    tracked = run(["git", "ls-files"], cwd=ROOT, check=True).stdout.splitlines()
    copied = "\n".join(path for path in tracked if path.split("/")[0] not in ignored)
    copy = f"mkdir {build}/source && tar -C {ROOT} -T - -c | tar -x -C {build}/source"
    run(images.outside("sh", "-c", copy), input=copied, check=True)
    environment = {**os.environ, "PATH": SYSTEM}
    environment.pop("PYTHONPATH", None)
    for step in steps("RUN", 1):
        done = run(images.inside("build", "sh", "-c", step), env=environment)
        if re.search("No matching distribution found|Could not find a version", done.stderr):
            pytest.skip("pip finds no index that has all packages of constraints.txt")
        assert done.returncode == 0, done.stderr[-3000:]
    assert steps("RUN", 2) == []
    assert steps("COPY", 2) == ["--from=build /opt/shoal /opt/shoal"]
    (options,) = re.findall(r"--tmpfs /tmp:(\S+)", FILE.read_text())
    user = instruction("USER")
    given = f"{final}/run/proxy.secret"
    finish = (
        f"cp -a {build}/opt/shoal {final}/opt/shoal && rm -rf {given} && printf %s {SECRET} > {given} && "
        f"chown {user} {given} && chmod 400 {given} && mount -o remount,ro {final} && "
        f"mount -t tmpfs -o {options},mode=1777 tmpfs {final}/tmp"
    )
    run(images.outside("sh", "-c", finish), check=True)


@pytest.mark.slow
def test_the_container_is_built_and_runs_for_a_user_without_rights_on_a_read_only_root(images):
    build(images)
    for path in ("/written", "/opt/shoal/written", "/var/tmp/written", "/run/written"):
        assert "Read-only file system" in run(images.inside("final", "touch", path)).stderr  # not even root
    port = str(free_port())
    url = f"http://127.0.0.1:{port}/"
    entry = [each.replace("8080", port) for each in json.loads(instruction("ENTRYPOINT"))]
    service = ["--public-url", url, "--proxy", "127.0.0.1", "--user-header", "X-Remote-User"]
    check = json.loads(re.search(r"CMD (\[.*\])", instruction("HEALTHCHECK"))[1].replace("8080", port))
    command = images.as_user(*entry, *service, "--proxy-secret", "/run/proxy.secret")
    assert run(images.as_user(*check)).returncode != 0  # before it runs
    with started(command) as server:
        until_healthy(f"{url}health", server)
        assert run(images.as_user(*check)).returncode == 0
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert re.search(r"^Uid:\s+10001\s+10001\s+10001\s+10001$", status, re.MULTILINE)
        assert re.search(r"^Groups:\s*$", status, re.MULTILINE)
        assert re.search(r"^CapBnd:\s+0+$", status, re.MULTILINE)
        assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
        ann = Client(url, "ann")
        assert ann.upload("of_ann.csv", CSV).status_code == 200
        ann.until("What are the attributes?")
        ann.click("Next: protection")
        ann.until("Protect")
        ann.click("Protect")
        ann.until("The release")
        assert ann.get("/download/masked").text.splitlines()[0] == "age,pay"
        server.send_signal(getattr(signal, instruction("STOPSIGNAL")))
        assert server.wait(300) == 0
    assert run(images.inside("final", "ls", "-A", "/tmp")).stdout == ""
    with started(command) as server:
        until_healthy(f"{url}health", server)
        server.kill()
        server.wait()
        assert run(images.as_user(*check)).returncode != 0


@contextlib.contextmanager
def started(command):
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()
