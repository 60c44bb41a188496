"""Browsers by hand that a proxy names: they open the page, send files, press buttons and take files away."""

import contextlib
import html
import json
import re
import socket
import ssl
import time

import httpx
from websockets.exceptions import ConnectionClosedOK
from websockets.sync.client import connect

SECRET = "0123456789abcdef0123456789abcdef"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def window_of(page: str) -> str:
    """Read the id of the window that a page was drawn for."""
    return re.search(r"client_id['\"]?:\s*['\"]([0-9a-f-]{36})", page)[1]


def heard(line, seconds: float = 300) -> str:
    """Wait for what the server says next, and answer if it asks whether somebody is there."""
    said = line.recv(timeout=seconds)
    if said == "2":
        line.send("3")
    return said


class Client:
    """One user with one session."""

    def __init__(self, url: str, user: str = "", *, headers=None, auth=None, trusted: ssl.SSLContext | None = None):
        named = {"X-Remote-User": user, "X-Shoal-Proxy": SECRET} if headers is None else headers
        self.trusted = trusted
        self.http = httpx.Client(headers=named, auth=auth, verify=trusted or True, timeout=300)
        entered = self.http.get(url)
        assert entered.status_code == 303, entered.text
        self.base = str(entered.url.join(entered.headers["location"])).rstrip("/")

    def get(self, path: str) -> httpx.Response:
        return self.http.get(f"{self.base}{path}")

    def page(self) -> str:
        return self.get("/").text

    def elements(self, page: str) -> dict[str, dict]:
        found = re.search(r"parseElements\(String\.raw`(.*?)`\)", page, re.DOTALL)
        return json.loads(html.unescape(found[1]))

    def upload(self, name: str, content: bytes) -> httpx.Response:
        path = re.search(r"/_nicegui/client/[0-9a-f-]+/upload/\d+", self.page())[0]
        return self.http.post(f"{self.base}{path}", files={"file": (name, content, "text/csv")})

    def click(self, label: str) -> None:
        """Press a button in a new window, by its socket."""
        page = self.page()
        window = window_of(page)
        number, button = next(
            (id_, each) for id_, each in self.elements(page).items() if each.get("props", {}).get("label") == label
        )
        listener = next(each["listener_id"] for each in button["events"] if each["type"] == "click")
        event = {"client_id": window, "id": int(number), "listener_id": listener, "args": []}
        with self.line(window) as line:
            line.send("40")
            while not heard(line).startswith("40"):
                pass
            line.send(f"42{json.dumps(['event', event])}")
            with contextlib.suppress(ConnectionClosedOK):  # a busy machine missed an answer to 'are you there?'
                while not heard(line).startswith('42["update"'):
                    pass

    def line(self, window: str):
        """Open the socket of a window."""
        url = re.sub("^http", "ws", self.base) + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        url += f"&client_id={window}&next_message_id=0&implicit_handshake=true&tab_id={window}&document_id={window}"
        sent = {name: value for name, value in self.http.headers.items() if name.startswith(("x-", "authorization"))}
        request = self.http.build_request("GET", self.base + "/")
        if self.http.auth is not None:
            request = next(self.http.auth.sync_auth_flow(request))
        sent |= {name: request.headers[name] for name in ("cookie", "authorization") if name in request.headers}
        return connect(url, additional_headers=sent, ssl=self.trusted, max_size=2**26)

    def until(self, words: str, again=None) -> str:
        """Wait until the page says something; `again` gets what it says until then."""
        for _ in range(200):
            page = self.page()
            if words in page:
                return page
            if again is not None:
                again(page)
            self.watch(page, words)
        raise AssertionError(f"the page does not say: {words}")

    def watch(self, page: str, words: str, seconds: float = 10) -> None:
        """Listen to what a window is told, as a browser does, until it is something or for some seconds."""
        end = time.monotonic() + seconds
        with self.line(window_of(page)) as line:
            line.send("40")
            with contextlib.suppress(TimeoutError, ConnectionClosedOK):
                while words not in heard(line, max(0.0, end - time.monotonic())):
                    pass
