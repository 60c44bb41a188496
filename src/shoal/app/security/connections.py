"""Open connections: those that have brought no session are few and short, so that nobody can take them all.

A stranger who opens many connections and sends little on each (slow loris) loses the oldest of them with every new one;
whoever brings a session at once is never a stranger for long.
"""

import asyncio
from functools import partial
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from shoal.app.security.limits import CONNECTIONS, PATIENCE, STRANGERS

STATE = "shoal_admit"  # in the state of a request: what its connection is admitted by


class Connections:
    """All open connections, and the sessions that they have brought."""

    def __init__(self, strangers: int = STRANGERS, patience: float = PATIENCE, of_a_session: int = CONNECTIONS) -> None:
        self._strangers = strangers
        self._patience = patience
        self._of_a_session = of_a_session
        self._open: dict[asyncio.Transport, str | None] = {}  # in the order in which they were opened

    def opened(self, connection: asyncio.Transport) -> None:
        """Note a connection, and close the oldest stranger's if these are too many; it must soon bring a session."""
        self._open = {each: session for each, session in self._open.items() if not each.is_closing()}
        strangers = [each for each, session in self._open.items() if session is None]
        if len(strangers) >= self._strangers:
            strangers[0].abort()
        self._open[connection] = None
        asyncio.get_running_loop().call_later(self._patience, self._end_stranger, connection)

    def admit(self, connection: asyncio.Transport, session: str) -> bool:
        """Note that a connection has brought a session; False if that one has too many."""
        others = [
            each
            for each, owner in self._open.items()
            if owner == session and each is not connection and not each.is_closing()
        ]
        if len(others) >= self._of_a_session:
            return False
        self._open[connection] = session
        return True

    def _end_stranger(self, connection: asyncio.Transport) -> None:
        if self._open.get(connection, "") is None:
            connection.abort()

    def protocol(self) -> type[H11Protocol]:
        """Return the protocol of a server whose connections are counted here."""
        connections = self

        class Counted(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                connections.opened(transport)
                # A socket takes this state over, so that its connection is still known.
                admit: dict[str, Any] = {STATE: partial(connections.admit, transport)}
                self.app_state = {**self.app_state, **admit}

        return Counted
