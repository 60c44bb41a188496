"""A budget of seconds that pieces of work share: record blocks, strata, regions of a file."""

from threading import Lock
from time import monotonic


class Clock:
    """Seconds from the first piece of work on, shared by the number of records among threads.

    A piece that took less, or more, than its part leaves more, or less, to those after it: what was asked for is kept
    in sum. `hurried` counts the pieces that had no time for MDAV.
    """

    def __init__(self, seconds: float, records: int, threads: int) -> None:
        self.seconds, self.records, self.threads = seconds, records, threads
        self.hurried = 0
        self._end: float | None = None
        self._lock = Lock()

    def take(self, records: int) -> float:
        """Return the seconds for a piece that begins now: its part of what is left, by the records not yet begun."""
        with self._lock:
            now = monotonic()
            if self._end is None:
                self._end = now + self.seconds
            part = min(1.0, self.threads * records / max(self.records, 1))
            self.records -= records
            return max(self._end - now, 1e-3) * part

    def hurry(self) -> None:
        """Count a piece that had no time for MDAV."""
        with self._lock:
            self.hurried += 1
