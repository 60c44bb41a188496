"""What passes the guard: answers get headers, requests end when they grow too large, sockets with their session."""

import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Send

from shoal.app.security.limits import PARTS
from shoal.app.security.responses import page_policy, refusal, secure
from shoal.app.security.tokens import Tokens

NO_SESSION, FOREIGN, TOO_MANY = 4401, 4403, 4429  # why a socket is closed


class Answer:
    """An answer on its way, which gets headers; and in a page, the scripts get a mark that nobody can guess.

    A browser runs no other script in a page, whatever an attacker writes into it. NiceGUI escapes the brackets
    of all that it puts into its page from elsewhere, so that the scripts found there are its own.
    """

    def __init__(self, path: str, socket: str, encrypted: bool, send: Send) -> None:
        self._path = path
        self._encrypted = encrypted
        self._send = send
        self._mark = secrets.token_urlsafe(16)
        self._policy = page_policy(self._mark, socket)
        self._page: tuple[Message, list[bytes]] | None = None

    async def __call__(self, message: Message) -> None:
        """Send a message of the page."""
        if message["type"] == "http.response.start":
            headers = Headers(raw=message.get("headers", []))
            if headers.get("x-nicegui-content") == "page":
                self._page = message, []
            else:
                await self._start(message)
        elif self._page is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._page[1].append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._finish(*self._page)

    async def _start(self, message: Message, length: int | None = None) -> None:
        headers = MutableHeaders(raw=list(message.get("headers", [])))
        secure(headers, self._path, message["status"], self._policy, self._encrypted)
        if length is not None:
            headers["Content-Length"] = str(length)
        await self._send({**message, "headers": headers.raw})

    async def _finish(self, start: Message, parts: list[bytes]) -> None:
        if start["status"] >= 400:  # NiceGUI's page of a failure shows the text of the exception
            answer = refusal(start["status"], "nothing-here" if start["status"] < 500 else "page-failed")
            await self._start({**start, "headers": answer.raw_headers})
            await self._send({"type": "http.response.body", "body": answer.body})
            return
        page = b"".join(parts).replace(b"<script", b'<script nonce="%s"' % self._mark.encode())
        await self._start(start, len(page))
        await self._send({"type": "http.response.body", "body": page})


class Body:
    """A request as it arrives; one that grows too large, or has too many parts, ends as if the browser had gone."""

    def __init__(self, receive: Receive, allowed: int, boundary: bytes = b"") -> None:
        self._receive = receive
        self._left = allowed
        self._boundary = b"--" + boundary if boundary else b""
        self._marks, self._tail = 0, b""
        self.too_large = False
        self.too_many = False

    async def __call__(self) -> Message:
        """Return the next piece."""
        message = await self._receive()
        body = message.get("body", b"")
        self._left -= len(body)
        self.too_large = self.too_large or self._left < 0
        self.too_many = self.too_many or self._count(body) > PARTS + 1  # there is one more at the end
        return {"type": "http.disconnect"} if self.too_large or self.too_many else message

    def _count(self, body: bytes) -> int:
        """Count what stands between parts, also where it arrives in two pieces."""
        if self._boundary:
            seen = self._tail + body
            self._marks += seen.count(self._boundary)
            self._tail = seen[len(seen) - len(self._boundary) + 1 :] if len(seen) >= len(self._boundary) else seen
        return self._marks


class Line:
    """A socket, which is cut when its session has ended: at the next message of the browser, within seconds."""

    def __init__(self, receive: Receive, send: Send, tokens: Tokens, session: str) -> None:
        self._receive = receive
        self._send = send
        self._tokens = tokens
        self._session = session
        self._cut = False

    async def receive(self) -> Message:
        """Return what the browser says."""
        message = await self._receive()
        self._cut = self._cut or message["type"] == "websocket.disconnect"
        if not self._cut and not self._tokens.known(self._session):
            await self.close(NO_SESSION)
            return {"type": "websocket.disconnect", "code": NO_SESSION}
        return message

    async def send(self, message: Message) -> None:
        """Send what the page says."""
        if not self._cut:
            self._cut = message["type"] == "websocket.close"
            await self._send(message)

    async def close(self, code: int) -> None:
        """Cut it."""
        await self.send({"type": "websocket.close", "code": code})
