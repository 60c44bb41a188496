"""Take the pictures of the page again: `python docs/pictures/page.py`, on a machine with chromium and the extra 'app'.

A raw household survey in an Excel file of two sheets, with names, weights, households and codes for missing values,
becomes a release that passes a policy: on the page alone, wide and narrow. A stricter policy refuses it. Then the
pages of commands. Last, the top of the demonstration's report, as a browser without scripts shows it.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import numpy as np
import openpyxl
import pyarrow as pa
from playwright.sync_api import Browser, Page, sync_playwright

from shoal.cli.demo import run
from shoal.parallel import quiet
from shoal.tables import open_table, write_table

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))
SHEET = "people"
WIDTHS = {"wide": 1280, "narrow": 400}
ROLES = {
    "birth_date": "identifier (dropped)",
    "interview_date": "identifier (dropped)",
    "household_no": "identifier (dropped)",
    "weight": "quasi-identifier (masked)",
    "income": "sensitive",
    "rent": "sensitive",
}
POLICY = """name = "Office of examples"
k = 5
loss = 20
unique_columns = 0
not_measured = "allow"
"""
STRICT = POLICY.replace("loss = 20", "loss = 0.5")


def main() -> None:
    """Walk through the page at each width."""
    with sync_playwright() as playwright, TemporaryDirectory() as name:
        folder = Path(name)
        raw_survey(folder / "survey.xlsx")
        (folder / "policy.toml").write_text(POLICY)
        (folder / "strict.toml").write_text(STRICT)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        command = [sys.executable, "-m", "shoal", "app", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
            try:
                for width, pixels in WIDTHS.items():
                    walk(browser, link_of(served.stdout), folder, width, pixels)
            finally:
                served.terminate()
        run(folder / "demo", 5, quiet)
        take_report(browser, folder / "demo" / "report.html")
        browser.close()


def raw_survey(path: Path, records: int = 1500) -> None:
    """Write the household survey as an Excel file: a household lives in one region; some incomes are -9, refused."""
    from tests.household_survey import survey

    table = survey(records)
    income = table["income"].to_numpy().copy()
    income[np.random.default_rng(3).choice(records, records // 25, replace=False)] = -9
    region = np.array(["north", "south", "east", "west"])[table["household_no"].to_numpy() % 4]
    for name, values in {"income": income, "region": region}.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    write_table(open_table(table), path, "excel")
    book = openpyxl.load_workbook(path)
    book.active.title = SHEET
    codebook = book.create_sheet("codebook")
    for row in (["attribute", "meaning"], *([column, "as asked"] for column in table.column_names)):
        codebook.append(row)
    book.save(path)


def link_of(lines: IO[str]) -> str:
    """Wait for the next link with a token."""
    for line in lines:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise RuntimeError("the page did not start")


def walk(browser: Browser, link: str, folder: Path, name: str, width: int) -> None:
    """Go from the raw survey to its release and to the pages of commands, and take a picture of each."""
    context = browser.new_context(viewport={"width": width, "height": 760}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(600_000)
    page.goto(link)
    page.get_by_role("button", name="Choose a file").wait_for()
    take(page, f"page-1-file-{name}")
    choose_file(page, "Choose a file", folder / "survey.xlsx")
    page.get_by_text("hidden ones included). Choose one with “Sheet”.").wait_for()
    page.get_by_text("How the file is read").click()
    page.get_by_label("Sheet", exact=True).fill(SHEET)
    if name == "narrow":
        take(page, f"page-1-sheet-{name}")
    page.get_by_role("button", name="Read the file again").click()
    page.get_by_role("heading", name="What are the attributes?").wait_for()
    for column, role in ROLES.items():
        page.get_by_label(f"Role of {column}", exact=True).click()
        page.get_by_role("option", name=role, exact=True).click()
        page.get_by_role("option").first.wait_for(state="hidden")
    page.evaluate("window.scrollTo(0, 0)")
    take(page, f"page-2-attributes-{name}")
    page.get_by_role("button", name="Next: protection").first.click()
    page.get_by_text("Policy of your office").click()
    choose_file(page, "Load a policy", folder / "policy.toml")
    page.get_by_text("policy.toml: 3 limits").wait_for()
    page.get_by_role("button", name="Draw the risk-utility map").click()
    page.get_by_role("slider").wait_for()
    page.wait_for_timeout(500)
    page.evaluate("window.scrollTo(0, 0)")
    take(page, f"page-3-protection-{name}")
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="The release").wait_for()
    page.get_by_role("heading", name="Verdict by policy Office of examples: passed").wait_for()
    page.evaluate("window.scrollTo(0, 0)")
    take(page, f"page-4-release-{name}")
    page.get_by_role("heading", name="Before and after").evaluate("each => each.scrollIntoView()")
    take(page, f"page-4-before-and-after-{name}")
    same_bytes(page, folder / name, folder / "survey.xlsx")
    commands(page, name)
    refused(page, folder, name)
    context.close()


def commands(page: Page, name: str) -> None:
    """Measure the risk of the survey, and assess the release: both are at hand."""
    page.get_by_role("link", name="Risk before masking").click()
    page.get_by_role("button", name="Use survey.xlsx").click()
    page.get_by_role("button", name="Measure the risk").click()
    page.get_by_role("heading", name="Result").wait_for()
    take(page, f"page-risk-{name}")
    page.get_by_role("link", name="Assess a masked file").click()
    original, masked = (page.get_by_role("group", name=f"{kind} file") for kind in ("Original", "Masked"))
    original.get_by_role("button", name="Use survey.xlsx").click()
    page.get_by_role("button", name="Assess", exact=True).wait_for()
    masked.get_by_role("button", name="Use survey-masked.xlsx").click()
    masked.get_by_role("button", name=re.compile("Choose another")).wait_for()
    page.get_by_role("button", name="Assess", exact=True).click()
    page.get_by_role("heading", name="Result").evaluate("each => each.scrollIntoView()")
    take(page, f"page-assess-{name}")


def refused(page: Page, folder: Path, name: str) -> None:
    """Ask for less loss than the release has: nothing is written."""
    page.get_by_role("link", name="Protect a file").click()
    page.get_by_role("button", name="3 Protection").click()
    page.get_by_text("Policy of your office").click()
    page.get_by_role("button", name="Remove the policy").click()
    page.get_by_role("button", name="Load a policy").wait_for()
    choose_file(page, "Load a policy", folder / "strict.toml")
    page.get_by_text("strict.toml: 3 limits").wait_for()
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="Not released").wait_for()
    page.get_by_role("heading", name="Verdict by policy Office of examples: failed").wait_for()
    if page.get_by_role("button", name="Masked file").count():
        raise RuntimeError("a release that fails the policy was written")
    page.evaluate("window.scrollTo(0, 0)")
    if name == "narrow":
        take(page, f"page-4-refused-{name}")


def same_bytes(page: Page, folder: Path, original: Path) -> None:
    """Run the command line that the page shows, and compare what it writes with what the page gives."""
    folder.mkdir()
    shutil.copy(original, folder)
    with page.expect_download() as download:
        page.get_by_role("button", name="Masked file", exact=True).click()
    given = download.value.path().read_bytes()
    name = download.value.suggested_filename
    page.get_by_text("Do the same on the command line or in Python").click()
    line = page.locator("code").first.inner_text().strip()
    words = shlex.split(line.replace("\\\n", " "))  # as a shell reads it
    subprocess.run([sys.executable, "-m", *words], cwd=folder, check=True)
    if (folder / name).read_bytes() != given:
        raise RuntimeError(f"the command line gives other bytes: {line}")


def choose_file(page: Page, button: str, path: Path) -> None:
    """Choose a file as a person does."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(path)


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
