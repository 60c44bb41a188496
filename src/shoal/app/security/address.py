"""Where the page is served, and by which names it may be asked for."""

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from shoal.errors import PlanError

_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_HOME = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True)
class Address:
    """A host, a port, whether connections are encrypted, and what all paths begin with."""

    host: str
    port: int
    secure: bool
    root: str = ""

    @property
    def scheme(self) -> str:
        """The first word of a link."""
        return "https" if self.secure else "http"

    def link(self, token: str) -> str:
        """Return the link that opens the page."""
        return f"{self.url}?token={token}"

    @property
    def url(self) -> str:
        """The address of the page."""
        host = socket.gethostname() if _is_any(self.host) else self.host
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}{self.root}/"

    def is_own(self, host: str) -> bool:
        """Return whether a Host header names this server.

        Any other site can let its name point to this machine, and would then be taken by a browser for the page
        itself (DNS rebinding). It cannot get a certificate for that name which this server would show.
        """
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or (443 if self.secure else 80)
        except ValueError:
            return False
        if port != self.port or parts.username is not None or parts.path or parts.query or parts.fragment:
            return False
        if is_loopback(self.host):
            return name in _HOME or name == self.host.lower()
        if _is_any(self.host):
            return self.secure or _is_number(name) or name in ("localhost", socket.gethostname().lower())
        return name == self.host.lower()

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Return whether an Origin header is that of the page, asked for by an own host: browsers spell both alike."""
        return origin.lower() == f"{self.scheme}://{host}".lower()


def public_address(url: str) -> Address:
    """Read the address at which a proxy serves the page.

    Raises
    ------
    PlanError
        It is none.
    """
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
    except ValueError:
        parts, secure, port = urlsplit(""), False, 0
    path = parts.path.rstrip("/")
    usable = parts.scheme in ("http", "https") and parts.hostname and _PATH.fullmatch(path)
    if not usable or parts.query or parts.fragment or parts.username is not None:
        raise PlanError("public-url-unreadable", field="public_url")
    host = (parts.hostname or "").lower()
    if not secure and not is_loopback(host):
        raise PlanError("public-url-not-https", field="public_url")
    return Address(host, port, secure, path)


def is_loopback(host: str) -> bool:
    """Return whether a host can be reached from this machine only."""
    return host.lower() == "localhost" or (_is_number(host) and ipaddress.ip_address(host).is_loopback)


def _is_any(host: str) -> bool:
    """Return whether a host stands for all addresses of the machine."""
    return _is_number(host) and ipaddress.ip_address(host).is_unspecified


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
