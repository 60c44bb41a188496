"""The page as a service: behind nginx with TLS and named users, and as the container runs it."""

import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

import httpx
from tests.app.clients import SECRET, Client, free_port

ROOT = Path(__file__).parents[2]
NOBODY = 65534
CSV = b"age,pay\n" + b"".join(b"%d,%d\n" % (each, each * each % 97) for each in range(60))


@contextlib.contextmanager
def running(*command, **options):
    """Run a program until it is no longer needed."""
    with subprocess.Popen([str(each) for each in command], **options) as process:
        try:
            yield process
        finally:
            process.terminate()


def until_healthy(url, process, **options):
    for _ in range(3000):  # five minutes
        assert process.poll() is None, "it did not start"
        try:
            if httpx.get(url, **options).text == "ok\n":
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise AssertionError("it does not get healthy")


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "proxy.secret"
    path.write_text(SECRET)
    path.chmod(0o600)
    return path


def app(port, public, secret):
    named = ["--user-header", "X-Remote-User", "--proxy-secret", secret]
    return [
        sys.executable,
        "-m",
        "shoal",
        "app",
        "--port",
        port,
        "--public-url",
        public,
        "--proxy",
        "127.0.0.1",
        *named,
    ]


# Behind nginx


def configuration(folder: Path, port: int, page: int) -> Path:
    """Write what docs/howto/run-as-a-service.md shows, for ports and files of the test."""
    text = (ROOT / "docs" / "howto" / "run-as-a-service.md").read_text()
    server = re.search(r"```nginx\n(.*?)```", text, re.DOTALL)[1]
    for shown, used in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "stat.example.org;": "127.0.0.1;",
        "/etc/ssl/stat.example.org.pem": f"{folder}/cert",
        "/etc/ssl/stat.example.org.key": f"{folder}/key",
        "/etc/nginx/users": f"{folder}/users",
        "http://127.0.0.1:8080": f"http://127.0.0.1:{page}",
        "the content of proxy.secret": SECRET,
    }.items():
        assert shown in server
        server = server.replace(shown, used)
    places = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    who = "user root; " if os.geteuid() == 0 else ""  # or its workers could not read the folder of the test
    path.write_text(
        f"{who}daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log {folder}/access.log; {places}\n{server} }}"
    )
    return path


@pytest.mark.slow
def test_behind_nginx_with_tls_and_single_sign_on(tmp_path, secret):
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        pytest.skip("the proxy is nginx: apt-get install nginx")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*make, "-keyout", tmp_path / "key", "-out", tmp_path / "cert"], check=True, capture_output=True)
    (tmp_path / "users").write_text("ann:{PLAIN}a\nbob:{PLAIN}b\n")
    port, page = free_port(), free_port()
    url, trusted = f"https://127.0.0.1:{port}/shoal/", ssl.create_default_context(cafile=tmp_path / "cert")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with (
        running(*app(page, url, secret), env=environment) as server,
        running(nginx, "-p", tmp_path, "-c", configuration(tmp_path, port, page)),
    ):
        until_healthy(f"http://127.0.0.1:{page}/health", server)
        assert httpx.get(url, verify=trusted).status_code == 401  # nginx asks for a password
        spoofed = {"X-Remote-User": "bob", "X-Shoal-Proxy": "guess"}
        ann = Client(url, headers=spoofed, auth=httpx.BasicAuth("ann", "a"), trusted=trusted)
        bob = Client(url, headers={}, auth=httpx.BasicAuth("bob", "b"), trusted=trusted)
        again = Client(url, headers={}, auth=httpx.BasicAuth("ann", "a"), trusted=trusted)
        assert again.base == ann.base != bob.base
        page_of_ann = ann.get("/")
        assert page_of_ann.headers["strict-transport-security"]
        script = re.search(r'src="(/shoal/session/[^"]+/socket\.io\.min\.js)"', page_of_ann.text)[1]
        assert ann.http.get(f"https://127.0.0.1:{port}{script}").status_code == 200
        assert ann.upload("of_ann.csv", CSV).status_code == 200
        ann.until("What are the attributes?")
        ann.click("1  File")  # by the socket
        assert "of_ann.csv" in ann.until("Open the table")
        assert "of_ann.csv" not in bob.page()
        stolen = httpx.get(
            f"{ann.base}/", headers={"cookie": _cookie(ann)}, auth=httpx.BasicAuth("bob", "b"), verify=trusted
        )
        assert stolen.status_code == 401
        direct = {"Host": f"127.0.0.1:{port}", "X-Remote-User": "ann"}
        for headers in (direct, {**direct, "X-Shoal-Proxy": "guess"}):  # from the same address as the proxy
            assert httpx.get(f"http://127.0.0.1:{page}/shoal/", headers=headers).status_code == 403


def _cookie(client):
    return client.http.build_request("GET", client.base + "/").headers["cookie"]


# As the container runs it


def instruction(name: str) -> str:
    """Read an instruction of the container file; the last one of that name counts."""
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text())
    return re.findall(rf"^{name} (.*)$", text, re.MULTILINE)[-1]


def test_the_container_has_a_user_without_rights_and_a_check():
    assert instruction("USER") == "10001:10001"
    assert "/health" in instruction("HEALTHCHECK")
    assert json.loads(instruction("ENTRYPOINT"))[:2] == ["shoal", "app"]


def readable_python(options) -> str:
    """Find a Python that another user may run: the own one may lie in a private home."""
    for python in (sys.executable, shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin")):
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            if python is not None:
                subprocess.run([python, "-c", "import shoal.cli, nicegui"], **options, check=True, capture_output=True)
                return python
    pytest.skip("another user may not read this Python, and there is no other")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_as_the_container_runs_it_without_rights_or_a_home_to_write_to(tmp_path):
    port = str(free_port())
    home, temporary, given = tmp_path / "home", tmp_path / "temporary", tmp_path / "given"
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # so that others get here
    home.mkdir(mode=0o555)
    temporary.mkdir()
    given.mkdir(mode=0o755)
    os.chown(temporary, NOBODY, NOBODY)
    (given / "secret").write_text(SECRET)
    (given / "secret").chmod(0o400)
    os.chown(given / "secret", NOBODY, NOBODY)
    entry = [each.replace("8080", port) for each in json.loads(instruction("ENTRYPOINT"))]
    url = f"http://127.0.0.1:{port}/"
    service = ["--public-url", url, "--proxy", "127.0.0.1", "--user-header", "X-Remote-User"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(temporary)}
    packages = [path for path in sys.path if Path(path, "shoal").is_dir() or "site-" in path]
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(packages)}
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/", "env": environment}
    python = readable_python(nobody)
    command = [python, "-m", *entry, *service, "--proxy-secret", given / "secret"]
    with running(*command, **nobody) as server:
        until_healthy(f"{url}health", server)
        check = json.loads(re.search(r"CMD (\[.*\])", instruction("HEALTHCHECK"))[1].replace("8080", port))
        assert subprocess.run([python, *check[1:]], **nobody, check=False).returncode == 0
        ann = Client(url, "ann")
        assert ann.upload("of_ann.csv", CSV).status_code == 200
        ann.until("What are the attributes?")
        ann.click("Next: protection")
        ann.until("Protect")
        ann.click("Protect")
        ann.until("The release")
        assert ann.get("/download/masked").text.splitlines()[0] == "age,pay"
        server.send_signal(signal.SIGTERM)
        assert server.wait(300) == 0
    assert list(home.iterdir()) == list(temporary.iterdir()) == []
