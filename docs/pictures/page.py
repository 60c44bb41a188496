"""Take the pictures of the page anew: `python docs/pictures/page.py`, on a machine with chromium and the extra 'app'.

Every step is taken wide and narrow; and the top of the demonstration's report, as a browser without scripts shows it.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from playwright.sync_api import Browser, Page, sync_playwright

from shoal.cli.demo import run
from shoal.parallel import quiet

HERE = Path(__file__).parent
WIDTHS = {"wide": 1100, "narrow": 400}


def main() -> None:
    """Walk through the page at each width, with the survey of the demonstration."""
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        command = [sys.executable, "-m", "shoal", "app", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
            for name, width in WIDTHS.items():
                walk(browser, link_of(served.stdout), name, width)
            served.terminate()
        run(Path(folder) / "demo", 5, quiet)
        take_report(browser, Path(folder) / "demo" / "report.html")
        browser.close()


def link_of(lines: IO[str]) -> str:
    """Wait for the next link with a token."""
    for line in lines:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise RuntimeError("the page did not start")


def walk(browser: Browser, link: str, name: str, width: int) -> None:
    """Go from the survey to its release, and take a picture of each step."""
    context = browser.new_context(viewport={"width": width, "height": 760})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(link)
    page.get_by_role("button", name="Choose a file").wait_for()
    take(page, f"page-1-file-{name}")
    page.get_by_role("button", name="Try it on a real survey").click()
    page.get_by_role("button", name="Next: protection").wait_for()
    take(page, f"page-2-attributes-{name}")
    page.get_by_role("button", name="Next: protection").click()
    page.get_by_role("button", name="Draw the risk-utility map").click()
    page.get_by_role("slider").wait_for()
    page.wait_for_timeout(500)
    take(page, f"page-3-protection-{name}")
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="Before and after").wait_for()
    take(page, f"page-4-release-{name}")
    context.close()


def take_report(browser: Browser, report: Path) -> None:
    """Take page one of a report, wide and narrow."""
    for name, width in WIDTHS.items():
        size = {"width": width, "height": 1150}
        plain = browser.new_context(viewport=size, java_script_enabled=False).new_page()
        plain.goto(report.as_uri())
        take(plain, f"report-{name}")
        plain.context.close()


def take(page: Page, name: str) -> None:
    """Take what fits on the screen: small enough to be kept."""
    page.wait_for_timeout(300)
    page.screenshot(path=HERE / f"{name}.png", scale="css")


if __name__ == "__main__":
    main()
