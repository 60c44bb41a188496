"""The page as people use it, in a real browser."""

import contextlib
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.expect import pattern

from shoal.app.fields import on_page
from shoal.datasets import CONFIDENTIAL, QUASI, survey
from shoal.messages import Message
from shoal.tables import open_table, write_table


def shoal(*arguments, folder):
    """Run a command line of shoal in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "shoal", *arguments], cwd=folder, capture_output=True, text=True, timeout=600
    )


def choose(page, label, option):
    """Choose from a list by its label."""
    open_list(page, label, option)
    page.get_by_role("option", name=option, exact=True).click()
    page.get_by_role("option").first.wait_for(state="hidden")


def open_list(page, label, option):
    """Open a list until the option is there: the page may be drawn again at that moment."""
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    for _ in range(10):
        page.get_by_label(label, exact=True).click()
        with contextlib.suppress(playwright.TimeoutError):
            page.get_by_role("option", name=option, exact=True).wait_for(timeout=12_000)
            return
        page.keyboard.press("Escape")


def unfold(page, part):
    """Open a part of the page that few need."""
    page.locator(".q-expansion-item__container > .q-item").filter(has_text=part).click()


def take(page, button, path):
    """Give a small file to one of the page's buttons."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button, exact=True).click()
    chooser.value.set_files(path)


def upload(page, path):
    """Open a file through the browser's own chooser."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files(path)


def downloaded(page, label, folder):
    """Take a file away."""
    with page.expect_download() as download:
        page.get_by_role("button", name=label, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.fixture(scope="module")
def survey_file(tmp_path_factory):
    pytest.importorskip("statsmodels", reason="the survey comes inside statsmodels")
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    write_table(open_table(survey().slice(0, 2000)), path, "csv")
    return path


def test_from_upload_to_download(visitors, survey_file, tmp_path):
    page = visitors()
    upload(page, survey_file)
    page.get_by_role("heading", name="What are the attributes?").wait_for()
    for name in CONFIDENTIAL:
        choose(page, f"Role of {name}", "sensitive")
    choose(page, "Role of religious", "quasi-identifier (masked)")
    choose(page, "Type of occupation", "nominal")
    page.get_by_role("button", name="Next: protection").click()
    page.get_by_role("button", name="Draw the risk-utility map").click()
    slider = page.get_by_role("slider", name="Move along the map")
    slider.wait_for()
    page.get_by_label("k", exact=True).fill("8")
    page.get_by_text("k = 8 loses").wait_for()
    page.keyboard.press("Tab")  # from the number to the slider
    for k in (6, 5, 4):
        page.keyboard.press("ArrowLeft")
        page.get_by_text(f"k = {k} loses").wait_for()
    page.get_by_label("Risk at most (%)").fill("15")
    page.get_by_text(re.compile(pattern("limits-met", k=5, method="mdav"))).wait_for()
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="Before and after").wait_for()
    assert page.get_by_role("img").count() >= len(QUASI)
    masked = downloaded(page, "Masked file", tmp_path)
    plan = downloaded(page, "Plan", tmp_path)
    report = downloaded(page, "Report", tmp_path)
    manifest = downloaded(page, "Manifest", tmp_path)
    users = downloaded(page, "Report for users", tmp_path)
    assert users.name == "survey-masked-users.html"
    assert "intruder" in report.read_text()
    assert "intruder" not in users.read_text()
    assert "<script" not in report.read_text() + users.read_text()
    checked = shoal("check", masked.name, "-k", "4", "--quasi", ",".join(QUASI), folder=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert shoal("check", masked.name, "--manifest", manifest.name, folder=tmp_path).returncode == 0

    # What the page shows gives the same bytes again: the command line, Python, and the plan.
    page.get_by_text("Do the same on the command line or in Python").click()
    command, code = (page.locator("code").nth(each).inner_text() for each in (0, 1))
    for way in ("command", "python", "plan"):
        again = tmp_path / way
        again.mkdir()
        (again / "survey.csv").write_bytes(survey_file.read_bytes())
        if way == "command":
            assert command.startswith("shoal protect survey.csv")
            run = subprocess.run(
                ["bash", "-c", command.replace("shoal", f"{sys.executable} -m shoal", 1)],
                cwd=again,
                capture_output=True,
                text=True,
            )
        elif way == "python":
            run = subprocess.run([sys.executable, "-c", code], cwd=again, capture_output=True, text=True)
        else:
            (again / plan.name).write_bytes(plan.read_bytes())
            run = shoal("protect", "--plan", plan.name, "-o", masked.name, "--overwrite", folder=again)
        assert run.returncode == 0, run.stderr
        assert (again / masked.name).read_bytes() == masked.read_bytes(), way


def test_cancel_in_the_middle_of_a_long_run(visitors, tmp_path):
    rng = np.random.default_rng(1)
    pq.write_table(pa.table({name: rng.normal(size=20_000) for name in "abcdef"}), tmp_path / "long.parquet")
    page = visitors()
    upload(page, tmp_path / "long.parquet")
    page.get_by_role("button", name="Next: protection").click()
    choose(page, "Method", "best: a search for the lowest loss")
    unfold(page, "Budget")
    page.get_by_label("Budget", exact=True).fill("30min")
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("status").get_by_text(" left").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled; there is no result.").wait_for()
    assert page.get_by_role("button", name="4 Release").is_disabled()
    choose(page, "Method", "zscores: along the sum of z-scores")
    page.get_by_text("Does not apply to method 'zscores'").wait_for()  # beside it, still unfolded
    page.get_by_label("Budget", exact=True).fill("")
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="Before and after").wait_for()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("broken.parquet", b"PAR1 this is not a table", "parquet"),
        ("empty.csv", b"", "empty"),
        ("twice.csv", b"age,age\n1,2\n3,4\n", "age"),
    ],
)
def test_a_broken_file_is_refused_in_a_sentence(visitors, tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    page = visitors()
    upload(page, tmp_path / name)
    alert = page.get_by_role("alert").first
    alert.wait_for()
    assert sentence in alert.inner_text().lower()
    assert "Traceback" not in page.content()
    assert page.get_by_role("button", name="Choose a file").is_visible()


def test_text_among_numbers_is_said_and_never_shown(visitors, tmp_path):
    rows = "".join(f"{age},{age * 3}\n" for age in range(30))
    (tmp_path / "mixed.csv").write_text(f"age,income\n{rows}40,unmistakable\n")
    page = visitors()
    upload(page, tmp_path / "mixed.csv")
    page.get_by_text(re.compile(r"'income'.*record\s+31\.")).first.wait_for(timeout=30_000)
    choose(page, "Role of income", "quasi-identifier (masked)")
    choose(page, "Type of income", "continuous")
    page.get_by_role("button", name="Next: protection").click()
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("alert").first.wait_for()
    assert "record 31" in page.get_by_role("alert").first.inner_text()
    assert "unmistakable" not in page.content()


def test_a_wrong_token_opens_nothing(visitors, served):
    address = served.link.split("?")[0]
    page = visitors(f"{address}?token=wrong")
    assert page.get_by_role("button", name="Choose a file").count() == 0
    assert page.context.request.get(f"{address}download/masked").status == 401
    page.goto(address)
    assert page.get_by_role("button", name="Choose a file").count() == 0


def test_a_token_opens_one_session(visitors, served):
    link = served.link
    visitors(link).get_by_role("button", name="Choose a file").wait_for()
    other = visitors(link)
    assert other.get_by_role("button", name="Choose a file").count() == 0


def test_the_address_without_a_token_leads_back_to_the_session(visitors, served):
    page = visitors()
    page.get_by_role("button", name="Choose a file").wait_for()
    another = page.context.new_page()
    another.goto(served.link.split("?")[0])
    another.get_by_role("button", name="Choose a file").wait_for(timeout=300_000)
    assert another.url == page.url
    assert "/session/" in page.url


def test_two_sessions_see_nothing_of_one_another(visitors, tmp_path):
    for who, column in (("ann", "wages"), ("bob", "acres")):
        values = np.arange(40) + (100 if who == "bob" else 0)
        pq.write_table(pa.table({column: values * 2.5, "age": values % 7}), tmp_path / f"{who}.parquet")
    ann, bob = visitors(), visitors()
    upload(ann, tmp_path / "ann.parquet")
    ann.get_by_role("button", name="Next: protection").click()
    ann.get_by_role("button", name="Protect", exact=True).click()
    ann.get_by_role("heading", name="Before and after").wait_for()
    assert bob.get_by_role("button", name="Choose a file").is_visible()
    address = bob.url
    assert bob.context.request.get(f"{address}download/masked").status == 404
    assert bob.context.request.get(f"{ann.url}download/masked").status == 401
    upload(bob, tmp_path / "bob.parquet")
    bob.get_by_role("heading", name="What are the attributes?").wait_for()
    bob.reload()
    bob.get_by_role("heading", name="What are the attributes?").wait_for()
    assert "acres" in bob.content()
    assert "wages" not in bob.content()
    ann.reload()
    ann.get_by_role("heading", name="Before and after").wait_for()
    assert "acres" not in ann.content()
    taken = downloaded(ann, "Masked file", tmp_path)
    assert pq.read_table(taken).column_names == ["wages", "age"]
    ann.get_by_role("button", name="Erase everything").click()
    ann.get_by_role("button", name="Erase", exact=True).click()
    ann.get_by_role("button", name="Choose a file").wait_for()
    assert ann.context.request.get(f"{ann.url}download/masked").status == 404


def there_and_back(page):
    """Go on to the third step, and back; each is there before the next click."""
    page.get_by_role("button", name="Next: protection").click()
    page.get_by_role("button", name="Protect", exact=True).wait_for()
    page.get_by_role("button", name="2 Attributes").click()
    page.get_by_role("heading", name="What are the attributes?").wait_for()


@pytest.mark.slow
def test_names_of_any_kind_roles_that_change_and_levels_with_commas(visitors, tmp_path):
    rng = np.random.default_rng(4)
    names = ["<script>alert(1)</script>", 'say "hi", or', "it's \\ 🐟"]
    columns = {name: rng.integers(0, 50, 60) for name in names}
    columns |= {"mood": rng.choice(["low", "so, so", "high"], 60), "region": rng.choice(["N", "S"], 60)}
    write_table(open_table(pa.table(columns)), tmp_path / "masked.csv", "csv")
    page = visitors(width=400)
    upload(page, tmp_path / "masked.csv")
    choose(page, f"Role of {names[2]}", "released unchanged")
    choose(page, "Role of region", "released unchanged")
    choose(page, "Type of mood", "ordinal")
    page.get_by_label("Details of mood").click()
    page.get_by_label("Levels of mood").fill('low, "so, so", high')
    page.get_by_text("Distribution of mood").wait_for()
    there_and_back(page)
    choose(page, "Role of region", "stratum")
    there_and_back(page)
    choose(page, "Role of region", "quasi-identifier (masked)")
    page.get_by_role("button", name="Next: protection").click()
    choose(page, "Write as", "Parquet")
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="Before and after").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.get_by_text("Do the same on the command line or in Python").click()
    command = page.locator("code").first.inner_text().strip()
    assert command == "shoal protect --plan masked-masked.parquet.plan.toml --output again.parquet"
    masked, plan = downloaded(page, "Masked file", tmp_path), downloaded(page, "Plan", tmp_path)
    assert 'input = "masked.csv"' in plan.read_text()
    assert "strata = [" not in plan.read_text()
    again = shoal(*command.split()[1:], folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.parquet").read_bytes() == masked.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("n", [30_000, 1_000_000])
def test_a_large_file_is_mapped_on_a_sample_and_protected_as_a_whole(visitors, tmp_path, n):
    rng = np.random.default_rng(2)
    values = {name: rng.normal(size=n).round(3) for name in ("income", "wealth", "age")}
    pq.write_table(pa.table(values), tmp_path / "large.parquet")
    page = visitors()
    upload(page, tmp_path / "large.parquet")
    page.get_by_role("button", name="Next: protection").click()
    page.get_by_role("button", name="Draw the risk-utility map").click()
    page.get_by_text("on a sample of 20,000 records").wait_for()
    choose(page, "Method", "zscores: along the sum of z-scores")
    page.get_by_label("k", exact=True).fill("10")
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="Before and after").wait_for()
    masked = downloaded(page, "Masked file", tmp_path)
    assert pq.read_metadata(masked).num_rows == n
    assert shoal("check", str(masked), "-k", "10", folder=tmp_path).returncode == 0


def test_the_keyboard_is_enough(visitors, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    rng = np.random.default_rng(3)
    pq.write_table(pa.table({name: rng.normal(size=60) for name in "ab"}), tmp_path / "small.parquet")
    page = visitors()
    page.get_by_role("button", name="Choose a file").wait_for()

    def tab_to(name):
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.innerText || ''").strip() == name:
                return
        raise AssertionError(f"the keyboard does not get to {name}")

    def press(name, follows):
        """Press a button until what follows is there: the page may be drawn again between Tab and Enter."""
        for _ in range(5):
            tab_to(name)
            with contextlib.suppress(playwright.TimeoutError), follows() as result:
                page.keyboard.press("Enter")
                return result
        raise AssertionError(f"nothing follows {name}")

    @contextlib.contextmanager
    def shown(locator):
        yield locator
        locator.wait_for(timeout=60_000)

    chooser = press("Choose a file", lambda: page.expect_file_chooser(timeout=60_000))
    chooser.value.set_files(tmp_path / "small.parquet")
    page.get_by_role("heading", name="What are the attributes?").wait_for()
    press("Next: protection", lambda: shown(page.get_by_role("heading", name="How much protection?")))
    press("Draw the risk-utility map", lambda: shown(page.get_by_role("slider")))
    press("Protect", lambda: shown(page.get_by_role("heading", name="Before and after")))
    download = press("Masked file", lambda: page.expect_download(timeout=60_000))
    assert download.value.suggested_filename == "small-masked.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("width", [1100, 400])
def test_units_dominance_and_totals(visitors, tmp_path, width):
    rng = np.random.default_rng(6)
    firm = rng.integers(0, 40, 160)
    columns = {"firm_id": [f"f{each}" for each in firm], "plant": [f"p{i // 2}" for i in range(160)]}
    columns |= {"turnover": rng.integers(400, 600, 160), "sector": rng.choice(["N", "S"], 160)}
    write_table(open_table(pa.table(columns)), tmp_path / "firms.csv", "csv")
    page = visitors(width=width)
    upload(page, tmp_path / "firms.csv")
    page.get_by_role("heading", name="What are the attributes?").wait_for()
    for name in ("firm_id", "plant"):
        choose(page, f"Role of {name}", "unit (k counts these)")
    choose(page, "Role of turnover", "quasi-identifier (masked)")
    choose(page, "Role of sector", "released unchanged")
    page.get_by_role("button", name="Next: protection").click()
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("alert").get_by_text(
        on_page(Message("role-of-several", field="unit", columns=["firm_id", "plant"]))
    ).wait_for()
    page.get_by_role("button", name="2 Attributes").click()
    choose(page, "Role of plant", "identifier (dropped)")
    page.get_by_role("button", name="Next: protection").click()
    unfold(page, "Unit numbers")
    choose(page, "Unit numbers", "pseudonym")
    unfold(page, "p % rule")
    page.get_by_label("p % rule").fill("5")
    page.get_by_label("Dominance", exact=True).fill("1, 60")
    open_list(page, "Totals to keep", "sector")
    page.get_by_role("option", name="sector", exact=True).click()
    page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="Before and after").wait_for()
    plan = downloaded(page, "Plan", tmp_path).read_text()
    for line in ('unit = "firm_id"', 'unit_as = "pseudonym"', "p_percent = 5", "keep_totals = ["):
        assert line in plan
    masked = pd.read_csv(downloaded(page, "Masked file", tmp_path))
    assert masked.groupby("turnover")["firm_id"].nunique().min() >= 5


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 300])
def test_a_plan_is_loaded_changed_and_saved_for_many_columns(visitors, tmp_path, n):
    rng = np.random.default_rng(7)
    columns = {f"q{at:03}": rng.integers(0, 9, 150) for at in range(n - 3)}
    columns |= {
        "age": rng.integers(18, 90, 150),
        "income": rng.normal(30, 9, 150).round(1),
        "town": ["N", "S", "W"] * 50,
    }
    write_table(open_table(pa.table(columns)), tmp_path / "wide.csv", "csv")
    (tmp_path / "old.plan.toml").write_text('k = 3\nquasi = ["income", "age"]\nstrata = ["town"]\nmethod = "vmdav"\n')
    (tmp_path / "policy.toml").write_text('name = "Office"\nk = 4\n')
    page = visitors()
    take(page, "Load a plan", tmp_path / "old.plan.toml")
    page.get_by_text("old.plan.toml, will be applied to the file that you open.").wait_for()
    upload(page, tmp_path / "wide.csv")
    page.get_by_text(f"wide.csv: 150 records, {n} attributes").wait_for()
    page.get_by_label("Search attributes").fill("Q")
    page.get_by_role("checkbox", name=f"Select the {n - 3} listed").click()
    page.get_by_text(f"{n - 3} attributes selected").wait_for()
    choose(page, "Set role", "identifier (dropped)")
    page.get_by_label("Search attributes").fill("age")
    page.get_by_label("Details of age").click()
    page.get_by_text("Distribution of age").wait_for()
    page.get_by_role("button", name="Next: protection").click()
    page.get_by_label("k", exact=True).fill("4")
    unfold(page, "Gain of vmdav")
    page.get_by_label("Gain of vmdav").fill("much")
    page.get_by_text("Must be a number.", exact=True).wait_for()
    page.get_by_label("Gain of vmdav").fill("0.4")
    page.get_by_text("Must be a number.", exact=True).wait_for(state="hidden")
    unfold(page, "Policy of your office")
    take(page, "Load a policy", tmp_path / "policy.toml")
    page.get_by_text("policy.toml: 1 limit").wait_for()
    plan = downloaded(page, "Save the plan", tmp_path)
    page.get_by_role("button", name="Protect", exact=True).click()
    page.get_by_role("heading", name="Before and after").wait_for()
    masked = downloaded(page, "Masked file", tmp_path)
    assert pd.read_csv(masked).columns.tolist() == ["age", "income", "town"]
    run = shoal("protect", "--plan", plan.name, "-o", "again.csv", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "again.csv").read_bytes() == masked.read_bytes()
