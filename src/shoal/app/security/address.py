"""Where the page is served, and by which names it may be asked for."""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

_HOME = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True)
class Address:
    """A host, a port, and whether what passes between them and a browser is encrypted."""

    host: str
    port: int
    secure: bool

    @property
    def scheme(self) -> str:
        """The first word of a link."""
        return "https" if self.secure else "http"

    def link(self, token: str) -> str:
        """Return the link that opens the page."""
        host = socket.gethostname() if _is_any(self.host) else self.host
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}/?token={token}"

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
