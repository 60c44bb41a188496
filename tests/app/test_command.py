"""shoal app: what it refuses, what it prints, and what it leaves behind, which is nothing."""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

import httpx
from tests.expect import refused
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from shoal.app.serve import _keep_to
from shoal.cli.page import app_command
from shoal.errors import FileError, PlanError
from shoal.messages import Message
from shoal.tables.private_folder import private_folder

PREFIX = "shoal-app-"
PUBLIC = {"public_url": "https://a.example"}
HOLD = (
    "from shoal.tables.private_folder import private_folder as p\n"
    f"with p('{PREFIX}') as f: print(f, flush=True); input()"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A machine to itself: an empty folder to start in, and one for temporary files."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@contextmanager
def started(*arguments):
    """Run a program and see to its end."""
    command = [sys.executable, *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is needed to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*make, "-keyout", folder / "key", "-out", folder / "cert"], check=True, capture_output=True)
    locked = ["openssl", "rsa", "-aes128", "-passout", "pass:secret", "-in", folder / "key", "-out", folder / "locked"]
    subprocess.run(locked, check=True, capture_output=True)
    return folder


# What is refused


@pytest.mark.parametrize(
    ("options", "code", "field", "data"),
    [
        ({"host": "0.0.0.0"}, "host-without-tls", "host", {"host": "0.0.0.0"}),
        ({"host": "stat.example.org"}, "host-without-tls", "host", {"host": "stat.example.org"}),
        ({"insecure": True}, "insecure-on-loopback", "insecure", {"host": "127.0.0.1"}),
        ({"insecure": True, "host": "localhost"}, "insecure-on-loopback", "insecure", {"host": "localhost"}),
        ({"insecure": True, "host": "::1"}, "insecure-on-loopback", "insecure", {"host": "::1"}),
        ({"tls_cert": Path("a")}, "applies-only-with", "tls_cert", {"needed": "--tls-key"}),
        ({"tls_key": Path("a")}, "applies-only-with", "tls_key", {"needed": "--tls-cert"}),
        (
            {"host": "0.0.0.0", "insecure": True, "tls_cert": Path("a"), "tls_key": Path("b")},
            *("does-not-apply-with", "insecure", {"other": "--tls-cert"}),
        ),
        (
            {**PUBLIC, "host": "0.0.0.0", "insecure": True, "proxy": "::1"},
            *("does-not-apply-with", "insecure", {"other": "--proxy"}),
        ),
        ({"job_limit": "long"}, "job-limit-unreadable", "job_limit", {}),
        ({"proxy": "127.0.0.1"}, "applies-only-with", "proxy", {"needed": "--public-url"}),
        ({"user_header": "X-U"}, "applies-only-with", "user_header", {"needed": "--public-url"}),
        ({"proxy_secret": Path("a")}, "applies-only-with", "proxy_secret", {"needed": "--public-url"}),
        (PUBLIC, "applies-only-with", "public_url", {"needed": "--proxy"}),
        ({"public_url": "http://a.example", "proxy": "::1"}, "public-url-not-https", "public_url", {}),
        ({"public_url": "https://a.example/?b", "proxy": "::1"}, "public-url-unreadable", "public_url", {}),
        ({**PUBLIC, "proxy": "0.0.0.0/0"}, "proxy-every-address", "proxy", {}),
        ({**PUBLIC, "proxy": "a.example"}, "proxy-unreadable", "proxy", {}),
        ({**PUBLIC, "proxy": "::1", "user_header": "X-U"}, "user-header-without-secret", "user_header", {}),
        (
            {**PUBLIC, "proxy": "::1", "user_header": "X U", "proxy_secret": Path("a")},
            *("user-header-unreadable", "user_header", {}),
        ),
        (
            {**PUBLIC, "proxy": "::1", "proxy_secret": Path("a")},
            *("applies-only-with", "proxy_secret", {"needed": "--user-header"}),
        ),
        ({"upload_limit": "much"}, "not-a-memory-size", "upload_limit", {}),
        ({"upload_limit": "0GB"}, "not-a-memory-size", "upload_limit", {}),
        ({"host": "192.0.2.1", "insecure": True}, "host-unknown", "host", {"host": "192.0.2.1"}),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_message(place, options, code, field, data):
    with refused(PlanError, code, field, **data) as caught:
        app_command(**options)
    assert len(caught.value.messages) == 1
    assert list(place.glob("*/*")) == []


@pytest.mark.parametrize(
    ("content", "mode", "code", "data"),
    [
        ("s" * 40, 0o644, "secret-readable-by-others", {}),
        ("short", 0o600, "proxy-secret-short", {"least": 32}),
        (None, 0o600, "proxy-secret-unreadable", {}),
    ],
)
def test_the_secret_of_a_proxy_is_long_and_private(place, content, mode, code, data):
    secret = place / "here" / "secret"
    if content is not None:
        secret.write_text(content)
        secret.chmod(mode)
    with refused(FileError, code, path=str(secret), **data):
        app_command(public_url="https://a.example", proxy="::1", user_header="X-U", proxy_secret=secret)


def test_a_port_that_is_taken_is_named(place):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with refused(PlanError, "port-taken", "port", port=port):
            app_command(port=port)


def test_a_port_that_needs_rights_is_named(place, monkeypatch):
    def bind(*_):
        raise PermissionError

    monkeypatch.setattr(socket.socket, "bind", bind)
    with refused(PlanError, "port-needs-rights", "port", port=80):
        app_command(port=80)


def test_files_that_do_not_exist_are_named(place):
    with pytest.raises(FileError, match=r"'data\.csv'"):
        app_command([Path("data.csv")])
    with pytest.raises(FileError, match="'cert'"):
        app_command(tls_cert=Path("cert"), tls_key=Path("key"))


@pytest.mark.parametrize("names", [("cert", "cert"), ("key", "cert"), ("cert", "locked")])
def test_a_certificate_needs_its_own_key_without_a_passphrase(place, certificate, names):
    paths = [certificate / name for name in names]
    with refused(FileError, "certificate-unusable", certificate=str(paths[0]), key=str(paths[1])):
        app_command(tls_cert=paths[0], tls_key=paths[1])


# What is left behind


def test_the_private_folder_is_private_and_gone_afterwards(place):
    with private_folder(PREFIX) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "upload").write_text("data")
    assert list((place / "temporary").iterdir()) == []


def test_the_folder_of_a_killed_run_is_erased_at_the_next_start_and_no_other(place):
    (place / "temporary" / "other").mkdir()
    (place / "temporary" / "shoal-app-link").symlink_to(place / "temporary" / "other")
    with started("-c", HOLD) as killed, started("-c", HOLD) as alive:
        left, kept = (Path(process.stdout.readline().strip()) for process in (killed, alive))
        (left / "upload").write_text("data")
        killed.kill()
        killed.wait()
        assert left.exists()
        with private_folder(PREFIX) as own:
            assert not left.exists()
            assert {path.name for path in (place / "temporary").iterdir()} == {
                own.name,
                kept.name,
                "other",
                "shoal-app-link",
            }


def test_nothing_is_reported_elsewhere_whatever_the_environment_says(place, monkeypatch):
    for name in ("FASTAPI_OTEL_AUTO_CONFIGURE", "NICEGUI_REDIS_URL", "NICEGUI_STORAGE_PATH", "OTEL_SDK_DISABLED"):
        monkeypatch.setenv(name, "")  # and have it as it was afterwards
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    with private_folder(PREFIX) as folder:
        _keep_to(folder)
        assert os.environ.get("FASTAPI_OTEL_AUTO_CONFIGURE") is None
        assert os.environ.get("NICEGUI_REDIS_URL") is None
        assert os.environ["OTEL_SDK_DISABLED"] == "true"
        with tempfile.NamedTemporaryFile() as spooled:
            assert folder in Path(spooled.name).parents


# The real thing


def test_the_page_is_served_to_whoever_has_the_token_and_leaves_nothing(place, monkeypatch):
    # NiceGUI would fail to start with the one, and complain about the other, if it looked there.
    monkeypatch.setenv("NICEGUI_REDIS_URL", "redis://127.0.0.1:9")
    stored = place / "here" / ".nicegui" / "storage-general.json"
    stored.parent.mkdir()
    stored.write_text("not of this page")
    with started("-m", "shoal", "app", "--port", 0) as process:
        link = re.fullmatch(
            r"Open this link in a browser: (http://127\.0\.0\.1:\d+/)\?token=(\S+)\n", process.stdout.readline()
        )
        assert process.stdout.readline() == "Stop with Ctrl-C; what was uploaded is then erased.\n"
        [folder] = (place / "temporary").iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        with httpx.Client(base_url=link[1], timeout=300) as browser:
            assert browser.get("/").status_code == 401
            entered = browser.get("/", params={"token": link[2]})
            assert entered.status_code == 303
            session = entered.headers["location"].strip("/")
            assert process.stdout.readline().startswith(f"The token was used; the next browser needs: {link[1]}?token=")
            page = browser.get(f"/{session}/")
            assert page.status_code == 200
            assert page.headers.keys().isdisjoint({"server", "set-cookie"})
            assert page.text.count("<script") == page.text.count("<script nonce=") > 0
            for path in ("/docs", "/redoc", "/openapi.json"):
                assert browser.get(f"/{session}{path}").status_code == 404
            cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        line = f"{link[1].replace('http', 'ws')}{session}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        with pytest.raises(InvalidStatus, match="403"):
            connect(line)
        with connect(line, additional_headers={"cookie": cookie}) as talk:
            assert talk.recv(timeout=300).startswith("0{")
            process.send_signal(signal.SIGTERM)  # while a page is open
            out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "Stopped; what was uploaded is erased.\n", "")
    assert [path for path in place.glob("*/**/*") if path.is_file()] == [stored]
    assert list((place / "temporary").iterdir()) == []


def test_with_a_certificate_it_is_served_encrypted_until_the_terminal_is_closed(place, certificate):
    options = ["--tls-cert", certificate / "cert", "--tls-key", certificate / "key", "--host", "0.0.0.0", "--port", 0]
    with started("-m", "shoal", "app", *options) as process:
        line = process.stdout.readline()
        port, token = re.search(rf"https://{socket.gethostname()}:(\d+)/\?token=(\S+)", line).groups()
        trusted = ssl.create_default_context(cafile=certificate / "cert")
        with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, timeout=300) as browser:
            entered = browser.get("/", params={"token": token})
            assert "Secure" in entered.headers["set-cookie"]
            page = browser.get(entered.headers["location"])
            assert (page.status_code, page.headers["strict-transport-security"]) == (200, "max-age=31536000")
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=300) == 0
    assert list(place.glob("*/*")) == []


@pytest.mark.slow
def test_a_handshake_that_never_ends_is_cut(place, certificate):
    options = ["--tls-cert", certificate / "cert", "--tls-key", certificate / "key", "--port", 0]
    with started("-m", "shoal", "app", *options) as process:
        port = int(re.search(r"https://[^/]+:(\d+)/", process.stdout.readline())[1])
        with socket.create_connection(("127.0.0.1", port), timeout=300) as line:
            assert line.recv(1) == b""  # nothing was sent, and the server has hung up
        process.terminate()
        assert process.wait(timeout=300) == 0


def test_failures_are_logged_by_their_kind_alone():
    program = """
        import logging
        from shoal.app.serve import keep_quiet
        keep_quiet()
        log = logging.getLogger("nicegui")
        log.warning("http://127.0.0.1/secret not found")
        log.error("secret")
        try:
            raise KeyError("secret")
        except KeyError as error:
            log.exception(error)
    """
    lines = re.sub(r"^ {8}", "", program, flags=re.MULTILINE)
    environment = {name: value for name, value in os.environ.items() if name != "SHOAL_DEBUG"}
    ended = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, env=environment, check=True)
    kinds = ["error of nicegui", "KeyError"]
    assert ended.stderr.splitlines() == [f"Error: {Message('unexpected', what=kind)}" for kind in kinds]
