"""The guard before the page: nobody gets past it without a session, and nothing larger than allowed.

It stands before NiceGUI, so that its files, its uploads and its socket are behind it too.
"""

import asyncio
import logging
import math
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote

from python_multipart.multipart import parse_options_header
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.app.security.address import Address
from shoal.app.security.connections import STATE
from shoal.app.security.limits import HEADERS, PATIENCE, SESSIONS, SMALL, TOKEN
from shoal.app.security.passing import FOREIGN, NO_SESSION, TOO_MANY, Answer, Body, Line
from shoal.app.security.proxy import Proxy, without_proxy_headers
from shoal.app.security.responses import ask_for_token, ended, opening, refusal
from shoal.app.security.tokens import Session, Tokens

_SAFE = ("GET", "HEAD")
_SESSION = "/session/"  # what the paths of a session begin with

_log = logging.getLogger(__name__)


class _Asked(NamedTuple):
    """A request, and what the guard knows of it.

    Attributes
    ----------
    path : str
        The part of the path that the page knows: without that of the proxy, and without that of the session.
    root : str
        What comes before it.
    session : str, optional
        The session that it belongs to, if its secrets are right.
    user : str
        Whom the proxy has named; empty if it names nobody.
    """

    request: HTTPConnection
    path: str
    root: str
    session: str | None
    user: str


class Guard:
    """Lets requests with a session through to the page, with ``request.state.shoal_session`` to tell them apart."""

    def __init__(self, app: ASGIApp, tokens: Tokens, address: Address, limit: int, proxy: Proxy | None = None) -> None:
        self.app = app
        self.tokens = tokens
        self.address = address
        self.limit = limit
        self.proxy = proxy
        self.cookie = f"shoal_session_{address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        asked = self._asked(HTTPConnection(scope))
        if scope["type"] == "websocket":
            await self._socket(asked, receive, send)
        else:
            await self._request(asked, receive, self._secured(asked, send))

    def _asked(self, request: HTTPConnection) -> _Asked:
        """Find out whose request it is: the path names the session, and the cookie must be that session's own."""
        user = (self.proxy.user(request) or "") if self.proxy and self.proxy.trusts(request) else ""
        whole, root = request.scope["path"], self.address.root
        path = whole.removeprefix(root) if whole.startswith(f"{root}/") else ""  # which is nowhere
        if not path.startswith(_SESSION):
            return _Asked(request, path, root, None, user)
        name, _, rest = path.removeprefix(_SESSION).partition("/")
        session = self.tokens.find(name, _cookies(request, self.cookie), user)
        return _Asked(request, f"/{rest}", f"{root}{_SESSION}{name}", session, user)

    async def _request(self, asked: _Asked, receive: Receive, send: Send) -> None:
        request, session = asked.request, asked.session
        answer = self._refused(asked) or await self._entrance(asked, receive)
        if answer is None and session is None:
            answer = self._no_session(401)
        if answer is None and _announced(request) > self._allowed(asked):
            answer = self._too_large(asked)
        if answer is None and not _admitted(asked):
            answer = refusal(429, "too-many-connections")
        if answer is not None or session is None:
            await (answer or Response(status_code=401))(request.scope, receive, send)
            return
        with self.tokens.hold(session):
            await self._pass_on(asked, receive, send)

    def _no_session(self, status: int) -> Response:
        """Explain how to get a session."""
        return refusal(status, "no-session", url=self.address.url if self._named_users else None)

    @property
    def _named_users(self) -> bool:
        """Whether a proxy names the users, so that no tokens are needed."""
        return self.proxy is not None and bool(self.proxy.user_header)

    def _refused(self, asked: _Asked) -> Response | None:
        """Refuse what is too large before it is looked at, and what another site makes a browser ask for."""
        request = asked.request
        if sum(len(name) + len(value) for name, value in request.headers.raw) + len(request.scope["path"]) > HEADERS:
            return refusal(431, "too-large-request", headers=True, most=HEADERS)
        if "content-length" in request.headers and "transfer-encoding" in request.headers:
            answer = refusal(400, "length-twice")
            answer.headers["Connection"] = "close"
            return answer
        if request.scope["path"] in ("/health", f"{self.address.root}/health"):
            return PlainTextResponse("ok\n")
        if self.proxy is not None and not self.proxy.trusts(request):
            return refusal(403, "only-the-proxy", url=self.address.url)
        if not self.address.is_own(request.headers.get("host", "")):
            return refusal(421, "other-name")
        if self._foreign(request):
            return refusal(403, "another-site")
        if self._named_users and not asked.user:
            return refusal(403, "no-user")
        return None

    def _foreign(self, request: HTTPConnection) -> bool:
        """Return whether a request comes from a page of another site, or of another port."""
        method, headers = request.scope.get("method"), request.headers
        if "origin" in headers and method not in _SAFE:  # a socket has no method, and is no safe one
            return not self.address.is_own_origin(headers["origin"], headers["host"])
        if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
            return False
        # A link may be followed from anywhere, but in a window of its own: not in a frame that nobody sees.
        in_a_window = headers.get("sec-fetch-dest", "document") == "document"
        return not (method in _SAFE and headers.get("sec-fetch-mode") == "navigate" and in_a_window)

    async def _entrance(self, asked: _Asked, receive: Receive) -> Response | None:
        """Let a browser in that brings the token, ask for it if it does not, and let it out."""
        request, what = asked.request, (asked.request.scope["method"], asked.path)
        if asked.session is not None:
            if _is_led_here(request):  # perhaps to a session of someone else's, whose key another program has set
                return _looking_again(self._asking(401), f"{self.address.root}/")
            return self._ended(asked) if what == ("POST", "/end") else None
        if asked.root == self.address.root:
            if self._named_users and what == ("GET", "/"):
                return self._entered(self._of_user(asked.user), request)
            if not self._named_users and what == ("POST", "/token"):
                return self._redeemed(_token(await _read(receive)), request)
            if not self._named_users and what == ("GET", "/") and "token" in request.query_params:
                return self._redeemed(request.query_params["token"], request)
        if asked.path != "/" and (what[0] != "GET" or request.headers.get("sec-fetch-mode") != "navigate"):
            return None
        answer = self._asking(401)
        if request.headers.get("sec-fetch-site") == "cross-site":
            # Whoever follows a link from another site has a cookie that the browser holds back until the page
            # itself asks again.
            return _looking_again(answer, asked.root + asked.path)
        return answer

    def _asking(self, status: int, code: str = "", **data: Any) -> Response:
        if self._named_users:
            return self._no_session(status)
        return ask_for_token(status, self.address.root, code, **data)

    def _ended(self, asked: _Asked) -> Response:
        self.tokens.end(asked.session or "")
        answer = ended()
        answer.delete_cookie(
            self.cookie, path=f"{asked.root}/", secure=self.address.secure, httponly=True, samesite="strict"
        )
        return answer

    def _of_user(self, user: str) -> Session | None:
        return None if self.tokens.full and not self.tokens.has(user) else self.tokens.of_user(user)

    def _redeemed(self, token: str, request: HTTPConnection) -> Response:
        if self.tokens.full:
            return self._entered(None, request)
        session = self.tokens.redeem(token)
        if session is not None:
            return self._entered(session, request)
        if (wait := self.tokens.wait()) > 0:
            answer = self._asking(429, "too-many-tokens", seconds=math.ceil(wait))
            answer.headers["Retry-After"] = str(math.ceil(wait))
            return answer
        return self._asking(403, "wrong-token")

    def _entered(self, session: Session | None, request: HTTPConnection) -> Response:
        """Lead a browser to the address of its session, with the key to it.

        One that followed a link from another site is led there by the page itself: nobody else may lead to a session.
        """
        if session is None:
            return refusal(503, "too-many-sessions", most=SESSIONS)
        path = f"{self.address.root}{_SESSION}{session.name}/"
        way = _looking_again(opening(), path) if _is_led_here(request) else RedirectResponse(path, 303)
        way.set_cookie(
            self.cookie, session.key, path=path, secure=self.address.secure, httponly=True, samesite="strict"
        )
        return way

    async def _pass_on(self, asked: _Asked, receive: Receive, send: Send) -> None:
        """Let the page answer, unless the request grows too large or the page fails."""
        body = Body(receive, self._allowed(asked), _boundary(asked))
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if not (body.too_large or body.too_many) or started:
                started = True
                await send(message)

        try:
            await self.app(self._inner(asked), body, answer)
        except Exception as error:
            if not (body.too_large or body.too_many):
                _log.error("the page failed", exc_info=error)
        if not started:
            await self._why_not(asked, body)(asked.request.scope, receive, send)

    def _why_not(self, asked: _Asked, body: Body) -> Response:
        if body.too_large:
            return self._too_large(asked)
        return refusal(413, "one-file-at-a-time") if body.too_many else refusal(500, "page-failed")

    def _inner(self, asked: _Asked) -> Scope:
        """Return what the page sees of a request: the session, and nothing of a proxy."""
        scope = asked.request.scope
        state = {**scope.get("state", {}), "shoal_session": asked.session}
        headers = without_proxy_headers(asked.request.headers, self.proxy)
        return {**scope, "root_path": asked.root, "headers": headers, "state": state}

    async def _socket(self, asked: _Asked, receive: Receive, send: Send) -> None:
        session, code = asked.session, 0
        if session is None:
            code = NO_SESSION
        elif (
            self._refused(asked) is not None or "sid" in asked.request.query_params
        ):  # a socket that goes on as another
            code = FOREIGN
        elif not _admitted(asked):
            code = TOO_MANY
        if session is None or code:
            await receive()
            await send({"type": "websocket.close", "code": code})
            return
        line = Line(receive, send, self.tokens, session)
        with self.tokens.hold(session):
            try:
                await self.app(self._inner(asked), line.receive, line.send)
            except Exception as error:
                _log.error("the page failed", exc_info=error)
                await line.close(1011)

    def _allowed(self, asked: _Asked) -> int:
        """Return how many bytes a request may have."""
        return self.limit + SMALL if is_upload(asked.path) else SMALL

    def _too_large(self, asked: _Asked) -> Response:
        file = is_upload(asked.path)
        return refusal(413, "too-large-request", file=file, most=self.limit if file else SMALL)

    def _secured(self, asked: _Asked, send: Send) -> Send:
        """Add headers to whatever is answered."""
        host = asked.request.headers.get("host", "")
        socket = f"{'wss' if self.address.secure else 'ws'}://{host}"
        return Answer(asked.path, socket if self.address.is_own(host) else "'self'", self.address.secure, send)


def _is_led_here(request: HTTPConnection) -> bool:
    """Return whether a page of another site, or of another port, has led a browser here."""
    headers = request.headers
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-site") in ("same-site", "cross-site")


def _looking_again(answer: Response, path: str) -> Response:
    """Have a browser ask for a path of this server once more, as the page itself."""
    answer.headers["Refresh"] = f"0; url={quote('/' + path.lstrip('/'))}"  # two slashes would begin another's name
    return answer


def is_upload(path: str) -> bool:
    """Return whether a path of the page is where a file is sent."""
    return path.startswith("/_nicegui/client/") and "/upload/" in path


def _boundary(asked: _Asked) -> bytes:
    """Return what stands between the parts of an upload, as Starlette reads it; nothing for other requests."""
    given = asked.request.headers.get("content-type", "") if is_upload(asked.path) else ""
    return parse_options_header(given)[1].get(b"boundary", b"")


def _admitted(asked: _Asked) -> bool:
    """Note that a connection has brought a session; False if there are too many of these. Tests have no connections."""
    admit = asked.request.scope.get("state", {}).pop(STATE, None)
    return admit is None or asked.session is None or bool(admit(asked.session))


def _cookies(request: HTTPConnection, name: str) -> list[str]:
    """Return all cookies of a name: another program on the machine may have set more."""
    given = [part.strip().partition("=") for value in request.headers.getlist("cookie") for part in value.split(";")]
    return [value for key, _, value in given if key == name]


def _announced(request: HTTPConnection) -> int:
    """Return how large a request claims to be; the server has checked that the claim is a number."""
    return int(request.headers.get("content-length", 0))


async def _read(receive: Receive) -> bytes:
    """Read the little that a form with a token holds, if it comes soon."""
    read = b""
    try:
        async with asyncio.timeout(PATIENCE):
            while len(read) <= TOKEN:
                message = await receive()
                read += bytes(message.get("body", b""))
                if not message.get("more_body", False):
                    return read
    except TimeoutError:
        pass
    return b""


def _token(form: bytes) -> str:
    return parse_qs(form.decode("ascii", "replace")).get("token", [""])[0].strip()
