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
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from shoal.app.serve import _keep_to
from shoal.cli.page import app_command
from shoal.errors import FileError, PlanError
from shoal.tables.private_folder import private_folder

PREFIX = "shoal-app-"
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
    ("options", "sentence"),
    [
        ({"host": "0.0.0.0"}, "host: '0.0.0.0' can be reached from other machines. Add --tls-cert and --tls-key, or"),
        ({"host": "stat.example.org"}, "host: 'stat.example.org' can be reached from other machines"),
        ({"insecure": True}, "insecure: does not apply: '127.0.0.1' can be reached from this machine only"),
        ({"insecure": True, "host": "localhost"}, "insecure: does not apply"),
        ({"insecure": True, "host": "::1"}, "insecure: does not apply"),
        ({"tls_cert": Path("a")}, "tls_cert: does not apply without --tls-key."),
        ({"tls_key": Path("a")}, "tls_key: does not apply without --tls-cert."),
        (
            {"host": "0.0.0.0", "insecure": True, "tls_cert": Path("a"), "tls_key": Path("b")},
            "insecure: does not go with --tls-cert. Leave out one of them.",
        ),
        ({"job_limit": "long"}, "job_limit: must be a time such as 30min or 2h"),
        ({"proxy": "127.0.0.1"}, "proxy: does not apply without --public-url"),
        ({"public_url": "https://a.example"}, "public_url: does not apply without --proxy"),
        ({"public_url": "http://a.example", "proxy": "::1"}, "public_url: must begin with https"),
        ({"public_url": "https://a.example/?b", "proxy": "::1"}, "public_url: must be an address such as https://"),
        ({"public_url": "https://a.example", "proxy": "0.0.0.0/0"}, "proxy: must not be every address"),
        ({"public_url": "https://a.example", "proxy": "a.example"}, "proxy: must be addresses or networks"),
        (
            {"public_url": "https://a.example", "proxy": "::1", "user_header": "X-U"},
            "user_header: needs --proxy-secret",
        ),
        (
            {"public_url": "https://a.example", "proxy": "::1", "proxy_secret": Path("a")},
            "proxy_secret: does not apply without --user-header",
        ),
        ({"upload_limit": "much"}, "upload_limit: must be a size such as 500MB or 2GB."),
        ({"upload_limit": "0GB"}, "upload_limit: must be a size"),
        ({"host": "192.0.2.1", "insecure": True}, "host: '192.0.2.1' is not a name or address of this machine"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_sentence(place, options, sentence):
    with pytest.raises(PlanError) as refused:
        app_command(**options)
    assert str(refused.value).startswith(sentence)
    assert len(refused.value.problems) == 1
    assert list(place.glob("*/*")) == []


@pytest.mark.parametrize(
    ("content", "mode", "sentence"),
    [
        ("s" * 40, 0o644, "can be read by other users. Keep the secret to yourself: chmod 600"),
        ("short", 0o600, "must hold at least 32 characters in one line"),
        (None, 0o600, "cannot be read, or is no text"),
    ],
)
def test_the_secret_of_a_proxy_is_long_and_private(place, content, mode, sentence):
    secret = place / "here" / "secret"
    if content is not None:
        secret.write_text(content)
        secret.chmod(mode)
    with pytest.raises(FileError, match=sentence):
        app_command(public_url="https://a.example", proxy="::1", user_header="X-U", proxy_secret=secret)


def test_a_port_that_is_taken_is_named(place):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PlanError, match=f"port: {port} is used by another program. Choose another"):
            app_command(port=port)


def test_files_that_do_not_exist_are_named(place):
    with pytest.raises(FileError, match=r"'data\.csv' does not exist"):
        app_command([Path("data.csv")])
    with pytest.raises(FileError, match="'cert' does not exist"):
        app_command(tls_cert=Path("cert"), tls_key=Path("key"))


@pytest.mark.parametrize("names", [("cert", "cert"), ("key", "cert"), ("cert", "locked")])
def test_a_certificate_needs_its_own_key_without_a_passphrase(place, certificate, names):
    with pytest.raises(FileError, match="both in PEM form, the key without a passphrase"):
        app_command(tls_cert=certificate / names[0], tls_key=certificate / names[1])


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
    assert ended.stderr.splitlines() == [
        "Error: Unexpected error of nicegui. Set SHOAL_DEBUG=1 to see where it happened.",
        "Error: Unexpected KeyError. Set SHOAL_DEBUG=1 to see where it happened.",
    ]
