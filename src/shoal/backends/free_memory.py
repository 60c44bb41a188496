"""How much memory there is to work with."""

import os
import re
from pathlib import Path

_SHARE = 0.75  # of what is free, where nothing was said: others need some too


def free_memory() -> int:
    """Return three quarters of the bytes that are free on this machine, or in this container if it has a limit."""
    free = [_machine(), *_container()]
    return int(_SHARE * min(free))


def _machine() -> int:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return 1024 * int(found[1]) if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _container() -> list[int]:
    """Return what control groups (version 2, version 1) leave of their limits; nothing where there is none."""
    left = []
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            left.append(int(Path(folder, limit).read_text()) - int(Path(folder, used).read_text()))
        except (OSError, ValueError):  # no such group, or 'max': no limit
            continue
    return left
