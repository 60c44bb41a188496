"""The command that serves the web page."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from shoal.errors import FileError, PlanError
from shoal.plan.fields import FILES


def app_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help=f"Files that the page opens without an upload ({FILES}).", show_default=False),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="The name or address to serve at; other addresses than this machine's own need TLS or --insecure."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any free one.", min=0, max=65535)] = 8080,
    tls_cert: Annotated[Path | None, typer.Option(help="A certificate in PEM format, for TLS.", metavar="FILE")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The key of the certificate.", metavar="FILE")] = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Serve other machines without encryption; the network can read everything."),
    ] = False,
    upload_limit: Annotated[str, typer.Option(help="Maximum size of an uploaded file.", metavar="SIZE")] = "2GB",
) -> None:
    """Run `shoal app`."""
    certificate = _certificate(tls_cert, tls_key)
    _refuse_open_host(host, certificate is not None, insecure)
    limit = _bytes(upload_limit)
    for path in files or []:
        if not path.exists():
            raise FileError(f"'{path}' does not exist. Check its name.")

    from shoal.app.serve import serve
    from shoal.cli.page_commands import command_pages

    serve(
        host,
        port,
        limit=limit,
        say=_say,
        files=[path.resolve() for path in files or []],
        certificate=certificate,
        commands=command_pages(),
        worker="shoal.cli.page_worker",
    )


def _certificate(certificate: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    if certificate is None and key is None:
        return None
    if certificate is None:
        raise PlanError([("tls_key", "does not apply without --tls-cert.")])
    if key is None:
        raise PlanError([("tls_cert", "does not apply without --tls-key.")])
    return certificate, key


def _refuse_open_host(host: str, encrypted: bool, insecure: bool) -> None:
    """Refuse to serve others without encryption, unless the user insists."""
    from shoal.app.security.address import is_loopback

    if is_loopback(host):
        if insecure:
            raise PlanError(
                [("insecure", f"does not apply: '{host}' can be reached from this machine only. Leave it out.")]
            )
    elif encrypted:
        if insecure:
            raise PlanError([("insecure", "does not go with --tls-cert. Leave out one of them.")])
    elif not insecure:
        way_out = "Add --tls-cert and --tls-key, or --insecure if the network is trusted."
        raise PlanError([("host", f"'{host}' can be reached from other machines. {way_out}")])


def _bytes(text: str) -> int:
    """Read a size as a plan does."""
    from pydantic import ValidationError

    from shoal.plan import Scale

    try:
        size = Scale(memory=text).memory_bytes
    except ValidationError:
        size = None
    if not size:
        raise PlanError([("upload_limit", "must be a size such as 500MB or 2GB.")])
    return size


def _say(line: str) -> None:
    """Print a line at once, however long: a link must not be broken. The terminal may be closed by now."""
    with suppress(OSError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
