"""Browsers by hand that a proxy names: they open the page, send files, press buttons and take files away."""

import html
import json
import re
import socket
import ssl
import time

import httpx
from websockets.sync.client import connect

SECRET = "0123456789abcdef0123456789abcdef"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


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
        window = re.search(r"client_id['\"]?:\s*['\"]([0-9a-f-]{36})", page)[1]
        number, button = next(
            (id_, each) for id_, each in self.elements(page).items() if each.get("props", {}).get("label") == label
        )
        listener = next(each["listener_id"] for each in button["events"] if each["type"] == "click")
        event = {"client_id": window, "id": int(number), "listener_id": listener, "args": []}
        with self.line(window) as line:
            line.send("40")
            while not line.recv(timeout=300).startswith("40"):
                pass
            line.send(f"42{json.dumps(['event', event])}")
            while not line.recv(timeout=300).startswith('42["update"'):
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
        for _ in range(2000):
            page = self.page()
            if words in page:
                return page
            if again is not None:
                again(page)
            time.sleep(1)
        raise AssertionError(f"the page does not say: {words}")
