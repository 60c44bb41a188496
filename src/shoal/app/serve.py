"""Serving the page: everything that lasts as long as the program runs, and what is left behind, which is nothing."""

import asyncio
import errno
import logging
import os
import signal
import socket
import ssl
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.app.jobs import WORKER
from shoal.app.security.limits import JOB
from shoal.errors import FileError, MissingExtra, PlanError
from shoal.messages import Message
from shoal.tables.atomic import no_such_file
from shoal.tables.private_folder import private_folder
from shoal.text import visible

if TYPE_CHECKING:
    from fastapi import FastAPI

    from shoal.app.commands import CommandPage
    from shoal.app.security.address import Address
    from shoal.app.security.middleware import Guard
    from shoal.app.security.proxy import Proxy
    from shoal.app.security.tokens import Tokens

_PREFIX = "shoal-app-"  # of the folder that holds uploads and releases
_STOPS = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is what a terminal sends that is closed


@dataclass(frozen=True)
class Settings:
    """How the page is served.

    Attributes
    ----------
    limit
        Bytes of an uploaded file, at most.
    files
        Files of this machine that every session may open without an upload.
    certificate
        A certificate and its key, for TLS.
    public
        The address at which a proxy serves the page; its own if there is none.
    proxy
        Whom requests may come from, if there is one.
    seconds
        How long one piece of work may take.
    commands
        Commands that have a page of their own, which the worker must be able to run.
    worker
        The module that works on files, in processes of its own.
    """

    limit: int
    files: Sequence[Path] = ()
    certificate: tuple[Path, Path] | None = None
    public: "Address | None" = None
    proxy: "Proxy | None" = None
    seconds: float = JOB
    commands: Sequence["CommandPage"] = ()
    worker: str = WORKER


def serve(host: str, port: int, settings: Settings, say: Callable[[str], None]) -> None:
    """Serve the page until the program is asked to stop.

    Parameters
    ----------
    host, port
        Where; 0 stands for any free port.
    settings
        How.
    say
        Called with each line for the person at the terminal.

    Raises
    ------
    PlanError
        The address cannot be used.
    FileError
        The certificate cannot be used.
    MissingExtra
        NiceGUI is not installed.
    """
    if settings.certificate is not None:
        _refuse_certificate(*settings.certificate)
    with _bound(host, port) as listening, _until_asked() as asked, private_folder(_PREFIX) as folder:
        _keep_to(folder)
        _serve(host, listening, asked, folder, settings, say)
    say("Stopped; what was uploaded is erased.")


def _serve(
    host: str,
    listening: socket.socket,
    asked: threading.Event,
    folder: Path,
    settings: Settings,
    say: Callable[[str], None],
) -> None:
    try:
        import nicegui  # noqa: F401 - whatever follows needs it
    except ImportError:
        raise MissingExtra("shoal app", "app") from None
    from shoal.app.jobs import Line
    from shoal.app.page import register
    from shoal.app.security.address import Address
    from shoal.app.security.middleware import Guard
    from shoal.app.security.tokens import Tokens
    from shoal.app.security.windows import Windows
    from shoal.app.sessions import Store

    own = Address(host, listening.getsockname()[1], secure=settings.certificate is not None)
    address, proxy = settings.public or own, settings.proxy
    sessions = folder / "sessions"
    sessions.mkdir(mode=0o700)
    line = Line(worker=settings.worker, seconds=settings.seconds)
    store = Store(sessions, line, shared=proxy is not None and bool(proxy.user_header))
    tokens = Tokens(
        announce=lambda token: say(f"The token was used; the next browser needs: {address.link(token)}"),
        forget=store.forget,
    )
    register(store, limit=settings.limit, files=settings.files, commands=settings.commands)
    keep_quiet()
    guard = Guard(Windows(page_app(tokens, store.close)), tokens, address, settings.limit, proxy)

    def ready() -> None:
        users = proxy is not None and proxy.user_header
        say(f"Open this link in a browser: {address.url if users else address.link(tokens.current)}")
        if settings.public is not None:
            say(f"The proxy passes requests on to {own.url}")
        say("Stop with Ctrl-C; what was uploaded is then erased.")

    run(guard, listening, asked, ready, settings.certificate)


def page_app(tokens: "Tokens", close: Callable[[], Awaitable[None]]) -> "FastAPI":
    """Put the pages that are registered with NiceGUI into an application that ends sessions: idle ones, all at last."""
    from fastapi import FastAPI
    from nicegui import ui

    @asynccontextmanager
    async def looking_after(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(_end_idle(tokens))
        yield
        task.cancel()
        await close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=looking_after)
    # No storage secret: NiceGUI then has no sessions of its own. No gzip: what is sent hardly ever leaves the machine.
    ui.run_with(app, title="Shoal", show_welcome_message=False, gzip_middleware_factory=None, prod_js=True)
    return app


def run(
    guard: "Guard",
    listening: socket.socket,
    asked: threading.Event,
    ready: Callable[[], None],
    certificate: tuple[Path, Path] | None,
) -> None:
    """Run the server until it is asked to stop."""
    import uvicorn

    from shoal.app.security.connections import Connections
    from shoal.app.security.limits import HEADERS, PATIENCE, SMALL

    class Server(uvicorn.Server):
        """Announces when it is ready, and leaves signals to the code that cleans up after it."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup([])
            protocol = partial(protocols, config, self.server_state, self.lifespan.state)
            patience = PATIENCE if config.ssl else None  # for a handshake, which uvicorn gives a minute
            loop = asyncio.get_running_loop()
            self.servers.append(
                await loop.create_server(protocol, sock=listening, ssl=config.ssl, ssl_handshake_timeout=patience)
            )
            ready()

        async def on_tick(self, counter: int) -> bool:
            return asked.is_set() or await super().on_tick(counter)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    protocols = Connections().protocol()
    config = uvicorn.Config(
        guard,
        http=protocols,
        h11_max_incomplete_event_size=HEADERS,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws_max_size=SMALL,
        timeout_graceful_shutdown=2,
        ssl_certfile=certificate[0] if certificate else None,
        ssl_keyfile=certificate[1] if certificate else None,
    )
    Server(config).run([listening])


async def _end_idle(tokens: "Tokens") -> None:
    while True:
        await asyncio.sleep(60)
        tokens.end_idle()


@contextmanager
def _until_asked() -> Iterator[threading.Event]:
    """Have signals asked for politely; none can interrupt the cleaning up, which comes before this ends."""
    asked = threading.Event()
    numbers = [getattr(signal, name) for name in _STOPS if hasattr(signal, name)]  # Windows has two of them
    before = {number: signal.signal(number, lambda *_: asked.set()) for number in numbers}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep_to(folder: Path) -> None:
    """Have everything that is put aside for a while put into the private folder, by other libraries too."""
    aside = folder / "aside"
    aside.mkdir(mode=0o700)
    tempfile.tempdir = str(aside)  # uploads, as they arrive
    os.environ["TMPDIR"] = str(aside)  # and what other processes of this one write
    # NiceGUI reads these once, when it is imported: it would look into the current folder, and talk to a server.
    os.environ["NICEGUI_STORAGE_PATH"] = str(folder / "nicegui")
    os.environ.pop("NICEGUI_REDIS_URL", None)
    # FastAPI, below it, would report what fails to wherever the environment says.
    os.environ.pop("FASTAPI_OTEL_AUTO_CONFIGURE", None)
    os.environ["OTEL_SDK_DISABLED"] = "true"


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """Take the port before anything else is done."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise PlanError("host-unknown", field="host", host=host) from None
    with socket.socket(family, kind, protocol) as listening:
        if os.name == "posix":  # elsewhere it would let two programs share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(where)
            listening.listen()
        except PermissionError:
            raise PlanError("port-needs-rights", field="port", port=port) from None
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PlanError("port-taken", field="port", port=port) from None
            raise PlanError("host-unknown", field="host", host=host) from None
        yield listening


def _refuse_certificate(certificate: Path, key: Path) -> None:
    """Refuse what TLS cannot be started with; a passphrase is not asked for."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    for path in (certificate, key):
        if not path.is_file():
            raise no_such_file(path)
    try:
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError):
        raise FileError("certificate-unusable", certificate=str(certificate), key=str(key)) from None


class Discreet(logging.Handler):
    """Logs the kind of a failure; its own text may carry values from the data."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        kind = record.exc_info[0] if record.exc_info else None
        what = kind.__name__ if kind is not None else f"error of {record.name.partition('.')[0]}"
        sys.stderr.write(f"Error: {Message('unexpected', what=what)}\n")


class Visible(logging.Formatter):
    """Shows names of columns and files without characters that a terminal obeys."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return "\n".join(visible(line) for line in super().format(record).split("\n"))


def keep_quiet() -> None:
    """Log failures only, and without values from the data unless SHOAL_DEBUG is set."""
    handler = logging.StreamHandler() if os.environ.get("SHOAL_DEBUG") else Discreet()
    handler.setFormatter(Visible())
    logging.basicConfig(level=logging.ERROR, handlers=[handler], force=True)
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.handlers.clear()  # socket.io and its kin would print every failure themselves, text and all
