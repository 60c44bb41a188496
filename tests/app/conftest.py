"""A real page in a real browser: the command `shoal app`, and Debian's chromium driven by Playwright."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]


@dataclass
class Served:
    """The page as it is served: its process, and all that it prints."""

    process: subprocess.Popen
    lines: list[str] = field(default_factory=list)

    @property
    def link(self) -> str:
        """The link with the token that opens the next session."""
        return re.findall(r"https?://\S+", "".join(self.lines))[-1]

    def listen(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    """Serve the page on any free port, with its temporary files in a folder of the test's."""
    pytest.importorskip("nicegui", reason="the page needs the extra 'app'")
    folder = tmp_path_factory.mktemp("served")
    with serving(folder) as page:
        yield page
    assert list(folder.iterdir()) == [], "the page left files behind"


class serving:  # noqa: N801 - a context manager, used as a word
    """Run `shoal app` with its temporary files in `folder`; everything that it prints is kept."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options

    def __enter__(self) -> Served:
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "app", "--port", "0", *self.options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": str(self.folder)},
        )
        self.page = Served(process)
        self.listener = threading.Thread(target=self.page.listen, daemon=True)
        self.listener.start()
        waited = threading.Event()
        for _ in range(3000):  # five minutes
            if any("token=" in line for line in self.page.lines):
                return self.page
            if process.poll() is not None:
                break
            waited.wait(0.1)
        process.kill()
        raise AssertionError(f"the page did not start: {self.page.lines}")

    def __exit__(self, *_: object) -> None:
        self.page.process.send_signal(signal.SIGTERM)
        self.page.process.wait(300)
        self.listener.join(300)


@pytest.fixture(scope="module")  # Playwright's event loop would be in the way of other modules' own
def chromium():
    """Debian's chromium, without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    if CHROMIUM is None:
        pytest.skip("browser tests need chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visitors(chromium, served):
    """Open the page in a browser of one's own, as often as asked; nothing may go to another address."""
    contexts, asked, errors = [], [], []

    def visit(link: str | None = None, width: int = 1280):
        context = chromium.new_context(viewport={"width": width, "height": 900}, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if "Content Security Policy" in said.text else None)
        page.goto(link or served.link)
        return page

    yield visit
    for context in contexts:
        context.close()
    own = urlsplit(served.link).netloc
    elsewhere = {url for url in asked if not url.startswith(("data:", "blob:")) and urlsplit(url).netloc != own}
    assert not elsewhere
    assert errors == []
