"""Whatever is sent to the page: an answer with all headers, never an exception's text or another session's data.

Two sessions are open: one that has something to hide, and one that sends whatever comes to mind.
"""

import json
import re
import socket
import time
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

SECRET = "acres_of_somebody"
HEADERS = {"x-content-type-options", "x-frame-options", "referrer-policy", "content-security-policy"}
TRACES = re.compile(r"Traceback|File \"|\.py\b.*line|Error\(|Exception")
QUICK = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LONG = settings(QUICK, max_examples=3000)


class Session:
    """A browser by hand: a cookie, the page it got, and a socket."""

    def __init__(self, link: str) -> None:
        self.outside = link.split("?")[0]
        entered = httpx.get(link, timeout=300)
        assert entered.status_code == 303
        self.at = entered.headers["location"].rstrip("/")
        self.cookie = entered.headers["set-cookie"].split(";")[0]
        self.http = httpx.Client(
            base_url=f"{self.outside.rstrip('/')}{self.at}", headers={"cookie": self.cookie}, timeout=300
        )
        self.plain = httpx.Client(timeout=300)  # which sends the cookies that it is told to
        self.open()

    def open(self) -> str:
        """Open a window, and return its page; one that no browser shows is soon forgotten."""
        answers = []
        _until(lambda: answers.append(self.http.get("/")) or answers[-1].status_code == 200, "there is no window left")
        page = answers[-1].text
        self.client = re.search(r"client_id['\"]?:\s*['\"]([0-9a-f-]{36})", page)[1]
        found = re.search(r"/_nicegui/client/[0-9a-f-]+/upload/\d+", page)  # there is none in other steps
        self.upload = found[0] if found else f"/_nicegui/client/{self.client}/upload/29"
        self.asset = re.search(r"/_nicegui/[0-9][^/]*/", page)[0]
        return page

    def socket(self):
        """Open a socket and take part as the page does."""
        url = f"{str(self.http.base_url).replace('http', 'ws')}_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        url += f"&client_id={self.client}&next_message_id=0&implicit_handshake=true&tab_id=t&document_id=d"
        return connect(url, additional_headers={"cookie": self.cookie}, max_size=2**26)


@pytest.fixture(scope="module")
def sessions(served):
    hiding = Session(served.link)
    files = {"file": ("acres.csv", f"{SECRET},b\n1,2\n3,4\n".encode(), "text/csv")}
    assert hiding.http.post(hiding.upload, files=files).status_code == 200
    _until(lambda: SECRET in hiding.http.get("/").text, "the upload does not show")
    return hiding, Session(served.link)


WORDS = st.sampled_from(
    [
        *(
            "",
            ".",
            "..",
            "%2e%2e",
            "download",
            "masked",
            "report",
            "plan",
            "manifest",
            "etc",
            "passwd",
            "token",
            "end ",
        ),
        *("_nicegui", "client", "upload", "dynamic_resources", "components", "libraries", "resources", "static", "esm"),
        *(
            "_nicegui_ws",
            "socket.io",
            "auto_static",
            "-1",
            "0",
            "7",
            "%00",
            "%0a",
            "~",
            "\u202e",
            "<script>",
            "a" * 300,
        ),
    ]
)
PATHS = st.lists(WORDS | st.text(max_size=12), max_size=6).map(lambda parts: "/" + "/".join(parts))
METHODS = st.sampled_from(["GET", "GET", "POST", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
LATIN = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
BOUNDARY = b"--x\r\nContent-Disposition: form-data; name="
BODIES = st.one_of(
    st.just(b""),
    st.binary(max_size=300),
    st.builds(lambda name, more: BOUNDARY + name + b"\r\n\r\n" + more, st.binary(max_size=30), st.binary(max_size=200)),
    st.builds(
        lambda name, more: BOUNDARY + b'"f"; filename="' + name.encode() + b'"\r\n\r\n' + more + b"\r\n--x--\r\n",
        st.text(st.characters(blacklist_categories=("Cs",)), max_size=200),
        st.binary(max_size=200),
    ),
)
KINDS = st.sampled_from(
    ["multipart/form-data; boundary=x", "multipart/form-data", "application/json", "text/plain", ""]
)
MORE = st.dictionaries(
    st.sampled_from(["Range", "Accept", "If-None-Match", "Origin", "Referer", "Sec-Fetch-Site", "X-Forwarded-Host"]),
    LATIN,
    max_size=3,
)


def check(answer):
    """See that an answer is one of the page's own."""
    if answer.status_code == 400 and answer.text == "Invalid HTTP request received.":
        return  # the server's own word for what is no HTTP
    assert answer.headers.keys() >= HEADERS, answer.request.url
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    text = answer.text if "javascript" not in answer.headers.get("content-type", "") else ""
    assert SECRET not in text
    assert "acres.csv" not in text
    if answer.status_code >= 400:
        assert TRACES.search(text) is None, (answer.request.url, text[:500])


def ask(sessions, method, path, known, kind, body, more, anonymous):
    """Send a request, to a path of any kind or to one that there is."""
    _, sender = sessions
    if known == "upload":
        sender.open()
    there = {"upload": sender.upload, "asset": sender.asset + path.lstrip("/"), "download": f"/download{path}"}
    inside = "" if known == "outside" else sender.at
    url = httpx.URL(sender.outside).copy_with(raw_path=_raw(f"{inside}{there.get(known, path)}"))
    if path == "/end" and method == "POST":
        return  # which ends the session, as it should
    headers = {**more, "Content-Type": kind, **({} if anonymous else {"Cookie": sender.cookie})}
    check(sender.plain.request(method, url, content=body, headers=headers))


def _raw(path: str) -> bytes:
    """Write a path as a careless client would: what cannot be sent is escaped, dots and slashes are not."""
    escaped = "".join(
        each if each.isascii() and each.isprintable() and each not in ' "#<>?\\^`{|}' else _percent(each)
        for each in path
    )
    return escaped.encode()


def _percent(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogatepass"))


REQUESTS = {
    "method": METHODS,
    "path": PATHS,
    "known": st.sampled_from(["upload", "asset", "download", "any", "any", "outside"]),
    "kind": KINDS,
    "body": BODIES,
    "more": MORE,
    "anonymous": st.booleans(),
}

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=8), inside, max_size=4),
    max_leaves=8,
)
EVENTS = st.sampled_from(["handshake", "event", "javascript_response", "ack", "too_long_message", "log", "delete", ""])


def event(client, name, fields, element, args):
    """Write a message of socket.io, much like those of the page."""
    usual = {"client_id": client, "id": element, "listener_id": "x", "args": args, "request_id": "1", "result": args}
    return "42" + json.dumps([name, {**usual, "next_message_id": 0, "document_id": "d", "tab_id": "t", **fields}])


MESSAGES = st.one_of(
    st.text(max_size=60),
    ANY.map(lambda what: f"42{json.dumps(what)}"),
    st.builds(lambda name, what: f"42{json.dumps([name, what])}", EVENTS, ANY),
    st.builds(
        lambda name, fields, element, args: (name, fields, element, args),
        EVENTS,
        st.dictionaries(
            st.sampled_from(["id", "listener_id", "args", "client_id", "next_message_id"]), ANY, max_size=2
        ),
        st.integers(-1, 200),
        ANY,
    ),
)


def talk(sessions, messages):
    """Send messages by a socket, and read what comes back."""
    hiding, sender = sessions
    sender.open()
    with sender.socket() as line:
        try:
            line.send("40")
            for message in messages:
                line.send(message if isinstance(message, str) else event(sender.client, *message))
            while True:
                said = line.recv(timeout=0.02)
                text = said if isinstance(said, str) else said.decode(errors="replace")
                assert SECRET not in text
                assert hiding.client not in text
                assert TRACES.search(text) is None
        except (TimeoutError, ConnectionClosed):
            pass


def still_there(served, sessions):
    """See that the server goes on, and has printed nothing but kinds of failures."""
    hiding, sender = sessions
    assert SECRET in hiding.open()
    assert SECRET not in sender.open()
    assert served.process.poll() is None
    known = re.compile(r"Open this link|Stop with|The token was used|Error: Unexpected (\w+|error of \w+). Set SHOAL")
    assert [line for line in served.lines if known.match(line) is None] == []


def test_requests_of_any_kind(served, sessions):
    QUICK(given(**REQUESTS)(lambda **request: ask(sessions, **request)))()
    still_there(served, sessions)


def test_messages_of_any_kind(served, sessions):
    QUICK(given(messages=st.lists(MESSAGES, max_size=8))(lambda messages: talk(sessions, messages)))()
    still_there(served, sessions)


@pytest.mark.slow
def test_many_requests_and_messages_of_any_kind(served, sessions):
    LONG(given(**REQUESTS)(lambda **request: ask(sessions, **request)))()
    LONG(given(messages=st.lists(MESSAGES, max_size=8))(lambda messages: talk(sessions, messages)))()
    still_there(served, sessions)


def test_an_upload_that_breaks_off_leaves_nothing(served, sessions):
    """Half of a large file arrives, and the browser goes away."""
    sender = Session(served.link)
    environment = Path(f"/proc/{served.process.pid}/environ")
    if not environment.exists():
        pytest.skip("where the page puts files is read from Linux's /proc")
    temporary = Path(re.search(rb"TMPDIR=([^\0]*)", environment.read_bytes())[1].decode())
    before = set(temporary.rglob("*"))

    def arrived():
        held = [path for path in Path(f"/proc/{served.process.pid}/fd").iterdir() if "aside" in _target(path)]
        return held or [path for path in temporary.rglob("*") if path not in before]

    url = sender.http.base_url
    with socket.create_connection((url.host, url.port)) as line:
        lines = [
            f"POST {sender.at}{sender.upload} HTTP/1.1",
            f"Host: {url.host}:{url.port}",
            f"Cookie: {sender.cookie}",
            "Content-Type: multipart/form-data; boundary=x",
            "Content-Length: 9000000",
        ]
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        line.sendall(BOUNDARY + b'"f"; filename="half.csv"\r\n\r\n' + b"1,2\n" * 1_000_000)
        _until(arrived, "nothing of the upload has arrived")
    _until(lambda: not arrived(), "something of the upload is left")


def _until(happens, otherwise):
    """Wait for something that happens in another process, but not for ever."""
    for _ in range(3000):
        if happens():
            return
        time.sleep(0.1)
    raise AssertionError(otherwise)


def _target(path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
