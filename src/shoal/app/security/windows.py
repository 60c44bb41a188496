"""Windows belong to sessions: nobody sends a file or a message to the window of another session.

NiceGUI finds a window by its id alone, which stands in addresses. Here, whatever names a window must come from the
session that the window was opened in.
"""

import functools
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from nicegui import Client, core
from socketio.exceptions import ConnectionRefusedError as Refused
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shoal.app.security.limits import UPLOADS, WINDOWS
from shoal.app.security.responses import refusal

_FILES = "/_nicegui/client/"  # where files are sent: followed by the id of a window
_SOCKET = "/_nicegui_ws/"

Handler = Callable[..., Any]


class Windows:
    """Stands between the guard and NiceGUI; limits windows and uploads of a session, too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._uploads: Counter[str] = Counter()
        core.app.config.socket_io_js_transports = ["websocket"]
        for event, handler in list(core.sio.handlers["/"].items()):
            if event != "disconnect":  # which names no window
                core.sio.on(event, _of_own_windows(event, handler))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is for another session's window, or one too many."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        session: str = scope["state"]["shoal_session"]
        path = scope["path"].removeprefix(scope["root_path"])
        refused = self._refused(path, session)
        if refused is not None:
            await refused(scope, receive, send)
        elif path.startswith(_FILES):
            await self._upload(session, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refused(self, path: str, session: str) -> Response | None:
        if path.startswith(_SOCKET):  # nobody can continue another's connection if there is none to continue
            return refusal(400, "no-websocket")
        if path.startswith(_FILES) and owner(path.removeprefix(_FILES).partition("/")[0]) != session:
            return refusal(403, "another-window")
        opens_window = not path.startswith(("/_nicegui", "/download/"))
        if opens_window and not _room_for_window(session):
            return refusal(429, "too-many-windows", most=WINDOWS)
        return None

    async def _upload(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        if self._uploads[session] >= UPLOADS:
            busy = refusal(429, "too-many-uploads", most=UPLOADS)
            await busy(scope, receive, send)
            return
        self._uploads[session] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._uploads[session] -= 1
            self._uploads += Counter()  # keeps those above zero


def owner(window: str) -> str | None:
    """Return the session that a window was opened in; None if there is no such window."""
    client = Client.instances.get(window)
    return None if client is None else _session(client)


def _session(client: Client) -> str | None:
    """Return the session of the request that a window was made by."""
    return getattr(client.request.state, "shoal_session", None)


def _room_for_window(session: str) -> bool:
    """Make room for one more window, in place of one that no browser shows; False if there is none."""
    mine = [client for client in Client.instances.values() if _session(client) == session]
    unseen = [client for client in mine if client.environ is None]  # one that is closed goes by itself in seconds
    too_many = len(mine) - WINDOWS + 1
    for client in unseen[: max(0, too_many)]:
        client.delete()
    return len(unseen) >= too_many


def _of_own_windows(event: str, handler: Handler) -> Callable[..., Awaitable[Any]]:
    """Have a message answered only if it names a window of the socket's own session."""

    @functools.wraps(handler)
    async def checked(socket: str, message: Any = None, *more: Any) -> Any:
        environ = core.sio.get_environ(socket)
        scope = environ["asgi.scope"]
        if event == "connect":
            message = environ  # and not what somebody sends who calls a message by that name
            window = parse_qs(scope["query_string"].decode("latin-1")).get("client_id", [None])[0]
        else:
            window = message.get("client_id") if isinstance(message, dict) else None
        whose = owner(window) if isinstance(window, str) else None
        if whose != HTTPConnection(scope).state.shoal_session:
            return await _refuse(event, socket, foreign=whose is not None)
        answer = handler(socket, message, *more)
        return await answer if isinstance(answer, Awaitable) else answer

    return checked


async def _refuse(event: str, socket: str, *, foreign: bool) -> bool:
    """Refuse a message; a socket that names another session's window is closed."""
    if event == "connect":
        raise Refused("Implicit handshake failed")  # upon which the page loads itself again
    if foreign:
        await core.sio.disconnect(socket)
    return False
