"""The pages of commands, and moving between steps and pages, in a real browser."""

import contextlib
import json
import re
import subprocess
import sys

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from shoal.tables import open_table, write_table


@pytest.fixture
def folder(tmp_path):
    """An original, two releases of it, and a policy."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, 120)
    columns = {"age": age, "sex": rng.integers(1, 3, 120), "w": rng.uniform(1, 9, 120).round(2)}
    tables = {
        "data": columns,
        "masked": {**columns, "age": age // 20 * 20},
        "earlier": {**columns, "age": age // 10 * 10},
    }
    for name, table in tables.items():
        write_table(open_table(pa.table(table)), tmp_path / f"{name}.csv", "csv")
    (tmp_path / "policy.toml").write_text('name = "office"\nloss = 0.001\n')
    return tmp_path


def take(page, title, path):
    """Choose a file for an option."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=re.compile(f"^Choose .*: {re.escape(title)}")).click()
    chooser.value.set_files(path)
    page.get_by_text(path.name, exact=True).first.wait_for()


def select(page, label, *names):
    """Choose columns, unless they are proposed."""
    page.get_by_label(label, exact=True).click()
    for name in names:
        option = page.get_by_role("option", name=name, exact=True)
        option.wait_for()
        if option.get_attribute("aria-selected") != "true":
            option.click()
    page.keyboard.press("Escape")


def unfold_all(page):
    """Open all parts of the page; a click is lost where the page is drawn again at that moment."""
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    folded = page.get_by_role("button", name="Expand")
    for _ in range(3 * folded.count()):
        if left := folded.count():
            folded.first.click()
            with contextlib.suppress(playwright.TimeoutError):
                folded.nth(left - 1).wait_for(state="detached", timeout=20_000)
    assert folded.count() == 0


def finished(page):
    """Wait for a result, and return what is shown of it."""
    page.get_by_role("heading", name="Result").wait_for()
    return page.locator(".shoal-result").inner_text()


def run_shown(page, folder, *more):
    """Run the command line that the page shows, beside the same files."""
    line = page.locator("code").first.inner_text().strip()
    words = line.replace("shoal", f"{sys.executable} -m shoal", 1)
    return subprocess.run(["bash", "-c", " ".join([words, *more])], cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
def test_a_masked_file_is_assessed_by_a_policy_and_compared_on_a_narrow_screen(visitors, folder):
    page = visitors(width=400)
    page.get_by_role("link", name="Assess a masked file").click()
    take(page, "Original file", folder / "data.csv")
    page.get_by_role("button", name="Assess", exact=True).wait_for()
    page.get_by_role("button", name="Assess", exact=True).click()
    page.get_by_text("Masked file: Choose a file.").wait_for()
    take(page, "Masked file", folder / "masked.csv")
    take(page, "Policy: the limits of your office", folder / "policy.toml")
    select(page, "Quasi-identifiers (key variables)", "age", "sex")
    page.get_by_role("button", name="Assess", exact=True).click()
    shown = finished(page)
    assert "failed" in shown
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    with page.expect_download() as download:
        page.get_by_role("button", name="Result as JSON").click()
    again = run_shown(page, folder, "--json")
    assert again.returncode == 1
    assert json.loads(again.stdout) == json.loads(download.value.path().read_text())

    page.get_by_role("link", name="Compare with an earlier release").click()
    page.get_by_role("heading", name="Compare with an earlier release").wait_for()
    take(page, "Masked file", folder / "masked.csv")
    page.get_by_role("button", name="Compare", exact=True).wait_for()
    take(page, "Earlier release", folder / "earlier.csv")
    page.get_by_label("k, the minimum group size").fill("2")
    select(page, "Quasi-identifiers (key variables)", "age", "sex")
    page.get_by_role("button", name="Compare", exact=True).click()
    assert "Together with 'earlier.csv'" in finished(page)
    page.go_back()
    page.get_by_role("heading", name="Assess a masked file").wait_for()
    assert "failed" in finished(page)


@pytest.mark.slow
def test_two_sessions_see_nothing_of_one_another_on_the_pages_of_commands(visitors, folder):
    ann, bob = visitors(), visitors()
    ann.get_by_role("link", name="Check a masked file").click()
    take(ann, "Masked file", folder / "masked.csv")
    ann.get_by_label("k, the minimum group size").fill("2")
    ann.get_by_role("button", name="Check", exact=True).click()
    finished(ann)
    bob.get_by_role("link", name="Check a masked file").click()
    bob.get_by_role("heading", name="Check a masked file").wait_for()
    assert bob.get_by_text("masked.csv").count() == 0
    of_ann, of_bob = (each.url.rsplit("/", 1)[0] for each in (ann, bob))
    assert bob.context.request.get(f"{of_bob}/download/check.json").status == 404
    assert bob.context.request.get(f"{of_ann}/download/check.json").status == 401
    assert ann.context.request.get(f"{of_ann}/download/check.json").status == 200
    ann.get_by_role("button", name="Erase everything").click()
    ann.get_by_role("button", name="Erase", exact=True).click()
    ann.get_by_text("Choose the file first.").wait_for()
    assert ann.context.request.get(f"{of_ann}/download/check.json").status == 404


@pytest.mark.slow
def test_a_sheet_of_a_workbook_is_chosen_where_several_have_data(visitors, tmp_path):
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("people")):
        for row in [["age", "sex"], *([20 + at % 7, 1 + at % 2] for at in range(40))]:
            sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    page = visitors()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files(tmp_path / "book.xlsx")
    page.get_by_text("hidden ones included). Choose one with “Sheet”.").wait_for()
    page.get_by_text("How the file is read").click()
    page.get_by_label("Sheet", exact=True).fill("people")
    page.get_by_role("button", name="Read the file again").click()
    page.get_by_text("book.xlsx: 40 records, 2 attributes").wait_for()

    page.get_by_role("link", name="Risk before masking").click()
    take(page, "Original file", tmp_path / "book.xlsx")
    page.get_by_text("hidden ones included). Choose one with “Sheet”.").wait_for()
    page.get_by_label("Sheet", exact=True).fill("people")
    page.get_by_role("button", name="Read the file again").click()
    page.get_by_role("button", name="Measure the risk").wait_for()
    page.get_by_role("button", name="Measure the risk").click()
    assert "40 records, 2 keys" in finished(page)
    assert "--sheet people" in page.locator("code").first.inner_text()


@pytest.mark.slow
def test_work_on_a_page_of_a_command_is_cancelled_and_begun_again(visitors, tmp_path):
    rng = np.random.default_rng(1)
    for name in ("data", "masked"):
        table = pa.table({column: rng.normal(size=300_000).round(3) for column in "abcd"})
        write_table(open_table(table), tmp_path / f"{name}.parquet", "parquet")
    page = visitors()
    page.get_by_role("link", name="Assess a masked file").click()
    take(page, "Original file", tmp_path / "data.parquet")
    page.get_by_role("button", name="Assess", exact=True).wait_for()
    take(page, "Masked file", tmp_path / "masked.parquet")
    select(page, "Quasi-identifiers (key variables)", "a", "b", "c", "d")
    page.get_by_role("button", name="Assess", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled; there is no result.").wait_for()
    assert page.get_by_role("heading", name="Result").count() == 0
    page.get_by_text("masked.parquet", exact=True).wait_for()  # what was entered is still there
    page.get_by_role("button", name="Assess", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled; there is no result.").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
def test_no_step_and_no_page_violates_level_a_or_aa(visitors, folder, width):
    rules = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core comes in a package")
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    page, violations = visitors(width=width), []

    def accessible(where):
        page.wait_for_timeout(300)
        found = rules.Axe().run(page, options=options)
        if found.violations_count:
            violations.append(f"{where}: {found.generate_report()}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, where
        assert page.locator("html").get_attribute("lang").startswith("en")
        assert page.get_by_role("main").count() == 1, where

    page.get_by_role("button", name="Choose a file").wait_for()
    accessible("file")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files(folder / "data.csv")
    page.get_by_role("heading", name="What are the attributes?").wait_for()
    accessible("attributes")
    page.get_by_role("button", name="Next: protection").first.click()
    page.get_by_role("button", name="Draw the risk-utility map").click()
    page.get_by_role("slider").wait_for()
    unfold_all(page)
    accessible("protection")
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="The release").wait_for()
    page.get_by_text("Do the same on the command line or in Python").click()
    accessible("release")

    # The browser's own buttons move between steps.
    page.go_back()
    page.get_by_role("heading", name="How much protection?").wait_for()
    page.go_back()
    page.get_by_role("heading", name="What are the attributes?").wait_for()
    page.go_forward()
    page.get_by_role("heading", name="How much protection?").wait_for()

    for title, action, files in (
        ("Risk before masking", "Measure the risk", {"Original file": "data.csv"}),
        ("Assess a masked file", "Assess", {"Original file": "data.csv", "Masked file": "masked.csv"}),
        ("Check a masked file", "Check", {"Masked file": "masked.csv"}),
        ("Compare with an earlier release", "Compare", {"Masked file": "masked.csv", "Earlier release": "earlier.csv"}),
    ):
        page.get_by_role("link", name=title).click()
        page.get_by_role("heading", name=title).wait_for()
        accessible(title)
        for option, name in files.items():
            take(page, option, folder / name)
            page.get_by_role("button", name=action, exact=True).wait_for()
        page.get_by_text("More options").click()
        if action in ("Check", "Compare"):
            page.get_by_label("k, the minimum group size").fill("2")
        page.get_by_role("button", name=action, exact=True).click()
        finished(page)
        accessible(f"{title}, result")
    assert violations == [], "\n".join(violations)
