"""A proxy before the page: who may pass requests on, and whom it says they come from.

A header is believed from nobody else. An address alone is no proof: every user of the proxy's machine has the same one.
A user is therefore believed only together with a secret that the proxy adds to each request.
"""

import ipaddress
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from shoal.errors import FileError, PlanError

PROOF = "x-shoal-proxy"  # the header with the secret
_LONGEST_USER = 256
_SHORTEST_SECRET = 32

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Proxy:
    """What is believed of requests, and from whom.

    Attributes
    ----------
    networks : tuple of networks
        Where requests may come from.
    user_header : str
        The header in which the proxy names the user, in lower case; empty if it does not.
    secret : str
        What the proxy proves itself by; empty if it does not name users.
    """

    networks: tuple[Network, ...]
    user_header: str = ""
    secret: str = field(default="", repr=False)

    def trusts(self, request: HTTPConnection) -> bool:
        """Return whether a request comes from the proxy."""
        if request.client is None:
            return False
        try:
            sender = ipaddress.ip_address(request.client.host)
        except ValueError:
            return False
        mapped = sender.ipv4_mapped if isinstance(sender, ipaddress.IPv6Address) else None
        if not any((mapped or sender) in network for network in self.networks):
            return False
        return not self.secret or _is_secret(request.headers.getlist(PROOF), self.secret)

    def user(self, request: HTTPConnection) -> str | None:
        """Return the user whom the proxy names; None if it names nobody, or two."""
        named = request.headers.getlist(self.user_header)
        user = named[0] if len(named) == 1 else ""
        is_name = user == user.strip() and user.isprintable()  # blanks that are cut off would make one user of two
        return user if user and is_name and len(user) <= _LONGEST_USER else None


def without_proxy_headers(headers: Headers, proxy: Proxy | None) -> list[tuple[bytes, bytes]]:
    """Return the headers that are the browser's own: NiceGUI would believe those of any proxy."""
    dropped = {PROOF, "forwarded", *([proxy.user_header] if proxy and proxy.user_header else [])}
    return [
        (name, value)
        for name, value in headers.raw
        if (plain := name.decode("latin-1").lower()) not in dropped and not plain.startswith("x-forwarded-")
    ]


def networks(text: str) -> tuple[Network, ...]:
    """Read addresses and networks, with commas between them.

    Raises
    ------
    PlanError
        One of them is neither.
    """
    try:
        found = tuple(ipaddress.ip_network(each.strip()) for each in text.split(","))
    except ValueError:
        raise PlanError("proxy-unreadable", field="proxy") from None
    if any(network.prefixlen == 0 for network in found):
        raise PlanError("proxy-every-address", field="proxy")
    return found


def read_secret(path: Path) -> str:
    """Read the secret that the proxy proves itself by.

    Raises
    ------
    FileError
        There is none, it is short, or others can read it.
    """
    try:
        open_to_others = path.stat().st_mode & 0o077
        secret = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise FileError("proxy-secret-unreadable", path=str(path)) from None
    if open_to_others:
        raise FileError("secret-readable-by-others", path=str(path))
    if len(secret) < _SHORTEST_SECRET or not secret.isprintable():
        raise FileError("proxy-secret-short", path=str(path), least=_SHORTEST_SECRET, command="openssl rand -hex 32")
    return secret


def _is_secret(given: list[str], secret: str) -> bool:
    return len(given) == 1 and secrets.compare_digest(given[0].encode(), secret.encode())
