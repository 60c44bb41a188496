"""What is logged: the kind of a failure, and neither paths nor values."""

import logging
import os
import sys


class Discreet(logging.Handler):
    """Says of what kind a failure is; its own text may carry values from the data."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        kind = record.exc_info[0] if record.exc_info else None
        what = kind.__name__ if kind is not None else f"error of {record.name.partition('.')[0]}"
        sys.stderr.write(f"error: an unexpected {what}; set SHOAL_DEBUG=1 to see where it happened\n")


def keep_quiet() -> None:
    """Log failures only, and discreetly unless somebody looks for the cause."""
    handler = logging.StreamHandler() if os.environ.get("SHOAL_DEBUG") else Discreet()
    logging.basicConfig(level=logging.ERROR, handlers=[handler], force=True)
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.handlers.clear()  # socket.io and its kin would print every failure themselves, text and all
