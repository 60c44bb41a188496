"""The command that serves the web page."""

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.errors import PlanError
from shoal.plan.fields import FILES
from shoal.tables.atomic import no_such_file

if TYPE_CHECKING:
    from shoal.app.security.address import Address
    from shoal.app.security.proxy import Proxy

_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


def app_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help=f"Files that the page opens without an upload ({FILES}).", show_default=False),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="The name or address to serve at; other addresses than this machine's own need TLS or --insecure.",
            metavar="HOST",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any free one.", min=0, max=65535, metavar="PORT")] = 8080,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate in PEM format, for TLS.", metavar="FILE")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The key of the certificate.", metavar="FILE")] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Serve other machines without encryption; the network can read everything.", metavar=""
        ),
    ] = False,
    upload_limit: Annotated[str, typer.Option(help="Maximum size of an uploaded file.", metavar="SIZE")] = "2GB",
    job_limit: Annotated[str, typer.Option(help="Maximum time of one piece of work.", metavar="TIME")] = "2h",
    public_url: Annotated[
        str | None, typer.Option(help="The address at which a reverse proxy serves the page.", metavar="URL")
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(help="The addresses or networks of the proxy; others are refused.", metavar="ADDRESSES"),
    ] = None,
    user_header: Annotated[
        str | None,
        typer.Option(help="The header in which the proxy names the user (single sign-on).", metavar="NAME"),
    ] = None,
    proxy_secret: Annotated[
        Path | None,
        typer.Option(help="A file with the secret that the proxy sends as X-Shoal-Proxy.", metavar="FILE"),
    ] = None,
) -> None:
    """Run `shoal app`."""
    certificate = _certificate(tls_cert, tls_key)
    public, trusted = _proxy(public_url, proxy, user_header, proxy_secret)
    _refuse_open_host(host, certificate is not None, insecure, trusted is not None)
    limit, seconds = _bytes(upload_limit), _seconds(job_limit)
    for path in files or []:
        if not path.exists():
            raise no_such_file(path)

    from shoal.app.serve import Settings, serve
    from shoal.cli.page_commands import command_pages

    own, commands = [path.resolve() for path in files or []], command_pages()
    settings = Settings(limit, own, certificate, public, trusted, seconds, commands, "shoal.cli.page_worker")
    serve(host, port, settings, _say)


def _certificate(certificate: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    if certificate is None and key is None:
        return None
    if certificate is None:
        raise PlanError("applies-only-with", field="tls_key", needed="--tls-cert")
    if key is None:
        raise PlanError("applies-only-with", field="tls_cert", needed="--tls-key")
    return certificate, key


def _proxy(
    url: str | None, addresses: str | None, header: str | None, secret: Path | None
) -> "tuple[Address | None, Proxy | None]":
    """Read where a proxy serves the page, and what is believed of what it says."""
    if url is None and addresses is None and header is None and secret is None:
        return None, None
    if url is None:
        field = "proxy" if addresses is not None else "user_header" if header is not None else "proxy_secret"
        raise PlanError("applies-only-with", field=field, needed="--public-url")
    if addresses is None:
        raise PlanError("applies-only-with", field="public_url", needed="--proxy")
    if header is not None and secret is None:
        raise PlanError("user-header-without-secret", field="user_header")
    if header is None and secret is not None:
        raise PlanError("applies-only-with", field="proxy_secret", needed="--user-header")
    if header is not None and _HEADER.fullmatch(header) is None:
        raise PlanError("user-header-unreadable", field="user_header")
    from shoal.app.security.address import public_address
    from shoal.app.security.proxy import Proxy, networks, read_secret

    user, proof = (header.lower(), read_secret(secret)) if header is not None and secret is not None else ("", "")
    return public_address(url), Proxy(networks(addresses), user, proof)


def _refuse_open_host(host: str, encrypted: bool, insecure: bool, behind_proxy: bool) -> None:
    """Refuse to serve others than a proxy without encryption, unless --insecure is given."""
    from shoal.app.security.address import is_loopback

    if is_loopback(host):
        if insecure:
            raise PlanError("insecure-on-loopback", field="insecure", host=host)
    elif encrypted or behind_proxy:
        if insecure:
            given = "--tls-cert" if encrypted else "--proxy"
            raise PlanError("does-not-apply-with", field="insecure", other=given)
    elif not insecure:
        raise PlanError("host-without-tls", field="host", host=host)


def _bytes(text: str) -> int:
    """Read a size as a plan does."""
    from pydantic import ValidationError

    from shoal.plan import Scale

    try:
        size = Scale(memory=text).memory_bytes
    except ValidationError:
        size = None
    if not size:
        raise PlanError("not-a-memory-size", field="upload_limit")
    return size


def _seconds(text: str) -> float:
    """Read a time as a plan does."""
    from pydantic import ValidationError

    from shoal.plan import Plan

    try:
        seconds = Plan(k=2, budget=text).effort.seconds
    except (ValidationError, PlanError):
        seconds = None
    if not seconds:
        raise PlanError("job-limit-unreadable", field="job_limit")
    return seconds


def _say(line: str) -> None:
    """Print a line at once, however long: a link must not be broken. The terminal may be closed by now."""
    with suppress(OSError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
