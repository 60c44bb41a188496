"""The guard before the page: nobody gets past it without a session, and nothing larger than allowed.

It stands before NiceGUI, so that its files, its uploads and its socket are behind it too.
"""

import logging
import math
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.app.security.address import Address
from shoal.app.security.responses import ask_for_token, ended, page_policy, secure, sentence
from shoal.app.security.tokens import Tokens
from shoal.text import counted

SMALL = 1 << 20  # bytes of a request that is no upload; and of what an upload has beside the file
_TOKEN = 4096  # bytes of a request that brings a token
_SAFE = ("GET", "HEAD")
_NO_SESSION, _FOREIGN = 4401, 4403  # why a socket is closed
_NOTHING = "There is nothing here; the page itself is at the address without a path."
_FAILURE = "Something unexpected happened; the terminal says what kind of thing."

_log = logging.getLogger(__name__)


class Guard:
    """Lets requests with a session through to the page, with ``request.state.shoal_session`` to tell them apart."""

    def __init__(self, app: ASGIApp, tokens: Tokens, address: Address, limit: int) -> None:
        self.app = app
        self.tokens = tokens
        self.address = address
        self.limit = limit
        # Browsers send a cookie to every port of a host: two pages on one machine must not take each other's.
        self.cookie = f"shoal_session_{address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self._request(scope, receive, self._secured(scope, send))

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        session = self._session(request)
        answer = self._refused(request) or await self._entrance(request, receive, session)
        if answer is None and session is None:
            answer = sentence(401, "There is no session; open the link that is shown where shoal app was started.")
        if answer is None and _announced(request) > self._allowed(request):
            answer = self._too_large(request)
        if answer is not None or session is None:
            await (answer or Response(status_code=401))(scope, receive, send)
            return
        scope.setdefault("state", {})["shoal_session"] = session
        with self.tokens.hold(session):
            await self._pass_on(request, receive, send)

    def _refused(self, request: HTTPConnection) -> Response | None:
        """Refuse what another site makes a browser ask for."""
        if not self.address.is_own(request.headers.get("host", "")):
            return sentence(421, "The page is not served under this name; open the link as it was shown.")
        return (
            sentence(403, "Another site asked for this; only the page itself may.") if self._foreign(request) else None
        )

    def _foreign(self, request: HTTPConnection) -> bool:
        """Return whether a request comes from a page of another site, or of another port."""
        method, headers = request.scope.get("method"), request.headers
        if "origin" in headers and method not in _SAFE:  # a socket has no method, and is no safe one
            return not self.address.is_own_origin(headers["origin"], headers["host"])
        visited = method in _SAFE and headers.get("sec-fetch-mode") == "navigate"
        return not visited and headers.get("sec-fetch-site", "none") not in ("same-origin", "none")

    async def _entrance(self, request: HTTPConnection, receive: Receive, session: str | None) -> Response | None:
        """Let a browser in that brings the token, ask for it if it does not, and let it out."""
        method, path = request.scope["method"], request.scope["path"]
        if (method, path) == ("POST", "/token"):
            return self._redeemed(_token(await _read(receive)), session)
        if (method, path) == ("GET", "/") and "token" in request.query_params:
            return self._redeemed(request.query_params["token"], session)
        if path == "/" and session is None:
            answer = ask_for_token(401)
            if request.headers.get("sec-fetch-site") == "cross-site":
                # Whoever follows a link from another site has a cookie that the browser holds back until the page
                # itself asks again.
                answer.headers["Refresh"] = "0; url=/"
            return answer
        if (method, path) == ("POST", "/end") and session is not None:
            self.tokens.end(session)
            answer = ended()
            answer.delete_cookie(self.cookie, secure=self.address.secure, httponly=True, samesite="strict")
            return answer
        return None

    def _redeemed(self, token: str, session: str | None) -> Response:
        if session is None:
            if (wait := self.tokens.wait()) > 0:
                answer = ask_for_token(429, f"Too many wrong tokens: wait {counted(math.ceil(wait), 'second')}.")
                answer.headers["Retry-After"] = str(math.ceil(wait))
                return answer
            session = self.tokens.redeem(token)
            if session is None:
                return ask_for_token(403, "This token is wrong, or was used before.")
        redirection = RedirectResponse("/", 303)
        redirection.set_cookie(
            self.cookie, session, path="/", secure=self.address.secure, httponly=True, samesite="strict"
        )
        return redirection

    async def _pass_on(self, request: HTTPConnection, receive: Receive, send: Send) -> None:
        """Let the page answer, unless the request grows too large or the page fails."""
        body = _Body(receive, self._allowed(request))
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if not body.too_large or started:
                started = True
                await send(message)

        try:
            await self.app(request.scope, body, answer)
        except Exception as error:
            if not body.too_large:
                _log.error("the page failed", exc_info=error)
        if not started:
            failed = sentence(500, _FAILURE)
            await (self._too_large(request) if body.too_large else failed)(request.scope, receive, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        session = self._session(request)
        if session is None or self._refused(request) is not None:
            await receive()
            await send({"type": "websocket.close", "code": _NO_SESSION if session is None else _FOREIGN})
            return
        scope.setdefault("state", {})["shoal_session"] = session
        line = _Line(receive, send, self.tokens, session)
        with self.tokens.hold(session):
            try:
                await self.app(scope, line.receive, line.send)
            except Exception as error:
                _log.error("the page failed", exc_info=error)
                await line.close(1011)

    def _session(self, request: HTTPConnection) -> str | None:
        session = request.cookies.get(self.cookie)
        return session if self.tokens.known(session) else None

    def _allowed(self, request: HTTPConnection) -> int:
        """Return how many bytes a request may have."""
        path = request.scope["path"]
        return self.limit + SMALL if path.startswith("/_nicegui/client/") and "/upload/" in path else SMALL

    def _too_large(self, request: HTTPConnection) -> Response:
        what = "The file" if self._allowed(request) > SMALL else "The request"
        allowed = self.limit if self._allowed(request) > SMALL else SMALL
        return sentence(413, f"{what} is larger than {counted(allowed, 'byte')}, which is all that is allowed.")

    def _secured(self, scope: Scope, send: Send) -> Send:
        """Add headers to whatever is answered."""
        host = HTTPConnection(scope).headers.get("host", "")
        socket = f"{'wss' if self.address.secure else 'ws'}://{host}"
        return _Answer(scope["path"], socket if self.address.is_own(host) else "'self'", self.address.secure, send)


class _Answer:
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
            answer = sentence(start["status"], _NOTHING if start["status"] < 500 else _FAILURE)
            await self._start({**start, "headers": answer.raw_headers})
            await self._send({"type": "http.response.body", "body": answer.body})
            return
        page = b"".join(parts).replace(b"<script", b'<script nonce="%s"' % self._mark.encode())
        await self._start(start, len(page))
        await self._send({"type": "http.response.body", "body": page})


class _Body:
    """A request as it arrives; one that grows too large ends as if the browser had gone."""

    def __init__(self, receive: Receive, allowed: int) -> None:
        self._receive = receive
        self._left = allowed
        self.too_large = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        self.too_large = self.too_large or self._left < 0
        return {"type": "http.disconnect"} if self.too_large else message


class _Line:
    """A socket, which is cut when its session has ended: at the next message of the browser, within seconds."""

    def __init__(self, receive: Receive, send: Send, tokens: Tokens, session: str) -> None:
        self._receive = receive
        self._send = send
        self._tokens = tokens
        self._session = session
        self._cut = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._cut = self._cut or message["type"] == "websocket.disconnect"
        if not self._cut and not self._tokens.known(self._session):
            await self.close(_NO_SESSION)
            return {"type": "websocket.disconnect", "code": _NO_SESSION}
        return message

    async def send(self, message: Message) -> None:
        if not self._cut:
            self._cut = message["type"] == "websocket.close"
            await self._send(message)

    async def close(self, code: int) -> None:
        await self.send({"type": "websocket.close", "code": code})


def _announced(request: HTTPConnection) -> int:
    """Return how large a request claims to be; the server has checked that the claim is a number."""
    return int(request.headers.get("content-length", 0))


async def _read(receive: Receive) -> bytes:
    """Read the little that a form with a token holds."""
    read = b""
    while len(read) <= _TOKEN:
        message = await receive()
        read += bytes(message.get("body", b""))
        if not message.get("more_body", False):
            return read
    return b""


def _token(form: bytes) -> str:
    return parse_qs(form.decode("ascii", "replace")).get("token", [""])[0].strip()
