"""Who may use the page: a token opens one session, and a session is one browser.

Nothing of this is ever written to a file: when the program ends, all sessions end.
"""

import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from shoal.app.security.limits import SESSIONS

IDLE = 8 * 3600.0  # seconds without a request or an open connection, after which a session ends
TRIES = 10  # wrong tokens a minute, after which whoever brings another is told to wait


class Session(NamedTuple):
    """Two secrets, of which neither is worth anything alone.

    Browsers send a cookie to every port of a host, so that another program on the machine may see it; but only with
    requests below the path that it was set for, and that path is different in every session.

    Attributes
    ----------
    name : str
        Stands in the address of the session's windows.
    key : str
        Stands in the cookie.
    user : str
        Whom the proxy has named, if one does; else empty.
    """

    name: str
    key: str
    user: str


class Tokens:
    """The token of the next session, and the open sessions; `announce` gets every new token but the first."""

    def __init__(
        self,
        announce: Callable[[str], None],
        forget: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.current = secrets.token_urlsafe(24)
        self._announce = announce
        self._forget = forget
        self._clock = clock
        self._sessions: dict[str, Session] = {}
        self._used: dict[str, float] = {}
        self._open: dict[str, int] = {}
        self._wrong: deque[float] = deque(maxlen=TRIES)

    def redeem(self, token: str) -> Session | None:
        """Open a session with a token, which is worth nothing afterwards; None if it is the wrong one.

        The right token is accepted however many wrong ones came before: nobody guesses one of 192 bits, but anybody
        who may send wrong ones could lock its owner out.
        """
        if not secrets.compare_digest(token.encode(), self.current.encode()):
            self._wrong.append(self._clock())
            return None
        session = self._opened("")
        self.current = secrets.token_urlsafe(24)
        self._announce(self.current)
        return session

    def of_user(self, user: str) -> Session:
        """Return the session of a user whom the proxy has named; a new one if there is none."""
        mine = [session for session in self._sessions.values() if session.user == user]
        return mine[0] if mine else self._opened(user)

    def has(self, user: str) -> bool:
        """Return whether a user has a session."""
        return any(session.user == user for session in self._sessions.values())

    @property
    def full(self) -> bool:
        """Whether there are as many sessions as there may be."""
        return len(self._sessions) >= SESSIONS

    def _opened(self, user: str) -> Session:
        session = Session(secrets.token_urlsafe(16), secrets.token_urlsafe(32), user)
        self._sessions[session.name], self._used[session.name] = session, self._clock()
        return session

    def wait(self) -> float:
        """Return for how many seconds there were too many wrong tokens."""
        if len(self._wrong) < TRIES:
            return 0.0
        return max(0.0, 60 - (self._clock() - self._wrong[0]))

    def known(self, name: str) -> bool:
        """Return whether a session is open."""
        return name in self._sessions

    def find(self, name: str, keys: Iterable[str], user: str) -> str | None:
        """Return the name of the session that a request belongs to; None if its secrets or its user do not match."""
        session = self._sessions.get(name)
        if session is None or session.user != user:
            return None
        # Another program on this machine may set cookies of the same name: its own session must not take the place.
        matches = [secrets.compare_digest(key.encode(), session.key.encode()) for key in keys]
        return session.name if any(matches) else None

    @contextmanager
    def hold(self, session: str) -> Iterator[None]:
        """Keep a session for as long as a request or a connection lasts; its idle time starts again afterwards."""
        self._open[session] = self._open.get(session, 0) + 1
        try:
            yield
        finally:
            self._open[session] -= 1
            if not self._open[session]:
                del self._open[session]
            if session in self._used:
                self._used[session] = self._clock()

    def end(self, session: str) -> None:
        """End a session and forget what it held."""
        if self._used.pop(session, None) is not None:
            del self._sessions[session]
            self._forget(session)

    def end_idle(self) -> None:
        """End the sessions that nobody has used for long."""
        since = self._clock() - IDLE
        for session in [name for name, used in self._used.items() if used <= since and name not in self._open]:
            self.end(session)
