"""Who may use the page: a token opens one session, and a session is one browser.

Nothing of this is ever written to a file: when the program ends, all sessions end.
"""

import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

IDLE = 8 * 3600.0  # seconds without a request or an open connection, after which a session ends
TRIES = 10  # wrong tokens a minute, from all senders together


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
        self._used: dict[str, float] = {}
        self._open: dict[str, int] = {}
        self._wrong: deque[float] = deque()

    def redeem(self, token: str) -> str | None:
        """Open a session with a token, which is worth nothing afterwards; None if it is the wrong one."""
        if not secrets.compare_digest(token.encode(), self.current.encode()):
            self._wrong.append(self._clock())
            return None
        session = secrets.token_urlsafe(32)
        self._used[session] = self._clock()
        self.current = secrets.token_urlsafe(24)
        self._announce(self.current)
        return session

    def wait(self) -> float:
        """Return for how many seconds no token is accepted, after too many wrong ones."""
        now = self._clock()
        while self._wrong and self._wrong[0] <= now - 60:
            self._wrong.popleft()
        return 60 - (now - self._wrong[-TRIES]) if len(self._wrong) >= TRIES else 0.0

    def known(self, session: str | None) -> bool:
        """Return whether a session is open."""
        return session in self._used

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
            self._forget(session)

    def end_idle(self) -> None:
        """End the sessions that nobody has used for long."""
        since = self._clock() - IDLE
        for session in [name for name, used in self._used.items() if used <= since and name not in self._open]:
            self.end(session)
