"""Page one of the internal report: the verdict, every column, the worst risk, provenance and room for a signature."""

import datetime
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import prints, refused
from tests.report.report_samples import assert_accessible, people, read, release_of

import shoal
from shoal.plan.policy import Policy
from shoal.report import release_report


def page_of(release, **options):
    page = read(release_report(release, **options))
    assert_accessible(page)
    [front] = page.xpath("//section[contains(@class, 'internal')]")
    return front


def rows_of(front, which):
    return {
        row[0].text_content(): [cell.text_content() for cell in row[1:]] for row in front.xpath(f"{which}//tbody/tr")
    }


def test_each_limit_has_its_figure_and_a_result_in_words_and_a_symbol():
    policy = Policy(name="ours", k=4, loss=1e-6, dominance=0)
    front = page_of(replace(release_of("one attribute"), policy=policy))
    heading = front.xpath(".//h2[@id='verdict']")[0].text_content()
    assert "ours" in heading
    assert heading.endswith("✗ failed")
    assert "not written" in front.text_content()
    rows = rows_of(front, ".//table[@class='limits']")
    assert {name: row[-1].split(":")[0] for name, row in rows.items()} == {
        "k": "✗ failed",  # columns released unchanged single out records
        "dominance": "? not measured",
        "loss": "✗ failed",
    }
    assert rows["k"][1:3] == ["1 ", "at least 4 "]


def test_without_a_policy_the_findings_stand_first_and_nothing_is_called_safe():
    front = page_of(release_of("numbers"))
    [box] = front.xpath(".//div[contains(@class, 'verdict')]")
    assert "bad" in box.get("class")
    assert release_of("numbers").risk()["file"]["headline"]["text"] in box.text_content()
    assert "safe" not in front.text_content().lower()


def test_safe_is_said_of_a_whole_file_only():
    table = pa.table({"a": np.arange(40.0), "b": np.arange(40.0) ** 2})
    release = shoal.protect(table, k=4)
    assert release.risk()["file"]["headline"]["text"].code == "no-unique-record"
    assert prints(page_of(release).text_content(), "no-unique-record")


def test_every_column_has_its_treatment_and_the_reason():
    release = release_of("diverse")
    rows = rows_of(page_of(release), ".//table[@class='columns']")
    assert list(rows) == people().column_names
    assert rows["name"][:3] == ["identifier", "", "dropped"]
    assert rows["age"][:2] == ["quasi-identifier", "continuous"]
    assert rows["age"][2].startswith("mean of")
    assert rows["sick"][:4] == ["confidential", "", "unchanged", "sensitive; l = 2"]
    assert rows["town"][:3] == ["published", "", "unchanged"]
    assert rows["name"][3].endswith("person or firm")
    assert rows["age"][3].startswith("strangers")
    assert rows["town"][3].startswith("the plan")
    assert rows["wealth"][4].strip().startswith("▲ 9 below") or "singles out" in rows["wages"][4]


def test_heavy_changes_are_marked_in_words_and_with_a_symbol():
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=18), "b": rng.normal(size=18), "c": rng.normal(size=18)})
    release = shoal.protect(table, k=6, method="mdav")
    assert min(row["IL"] for row in release.loss()["attributes"].values()) > 20
    text = release_report(release)
    for name, row in release.loss()["attributes"].items():
        assert f"▲ heavy change: {row['IL']:.0f} %" in " ".join(
            rows_of(page_of(release), ".//table[@class='columns']")[name]
        )
    assert "▲ heavy change</span>" in text


def test_the_worst_risk_is_that_of_the_whole_file():
    release = release_of("numbers")
    seen = release.risk()["file"]["with_masked"]
    rows = rows_of(page_of(release), ".//table[@class='worst']")
    assert rows["Smallest group"][0] == f"▲ {seen['smallest']} record"
    assert [row[0] for row in rows.values()][1:3] == [f"▲ {seen[each]} of 160" for each in ("below_k", "uniques")]


def test_the_date_is_that_of_the_caller_and_there_is_room_to_sign():
    front = page_of(release_of("one attribute"), made=datetime.date(2031, 5, 6))
    assert "2031-05-06" in front.text_content()
    assert "engine memory" in front.text_content()
    assert [each.text_content() for each in front.xpath(".//section[@class='sign']//dt")] == [
        "Name",
        "Role",
        "Date",
        "Signature",
    ]


def test_of_many_columns_the_signature_comes_first():
    table = pa.table({f"c{i}": np.arange(12.0) ** (1 + i / 9) for i in range(20)})
    text = release_report(shoal.protect(table, k=3, method="mdav"))
    assert text.index('id="sign"') < text.index('id="columns"')
    assert release_report(release_of("numbers")).index('id="columns"') < text.index('id="sign"')


@pytest.mark.slow
def test_page_one_is_one_page_and_nothing_scrolls_sideways(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed")
    policy = Policy(name="ours", k=4, l=2, unique_columns=0, unique_records=0, loss=30, dominance=0)
    release_of("every type").report(tmp_path / "internal.html")
    release_of("every type").report(tmp_path / "external.html", external=True)
    replace(release_of("every type"), policy=policy).report(tmp_path / "policy.html")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for path in tmp_path.glob("*.html"):
            for width in (1280, 400):
                page = browser.new_page(viewport={"width": width, "height": 800})
                page.goto(path.as_uri())
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                page.close()
            if path.name == "external.html":
                continue
            # A4 less its margins, in pixels of a 96th of an inch.
            page = browser.new_page(viewport={"width": round(180 / 25.4 * 96), "height": round(273 / 25.4 * 96)})
            page.emulate_media(media="print")
            page.goto(path.as_uri())
            bottom = page.evaluate("document.querySelector('.internal').getBoundingClientRect().bottom")
            assert bottom <= 273 / 25.4 * 96, path.name
        browser.close()


def test_earlier_releases_are_compared_if_they_are_named(tmp_path):
    table = people().select(["age", "income"])
    one, two = (shoal.protect(table, k=k, method="mdav") for k in (4, 5))
    two.save(tmp_path / "earlier.csv")
    one.report(tmp_path / "report.html", against=[tmp_path / "earlier.csv"])
    page = read((tmp_path / "report.html").read_text())
    [cells] = page.xpath("//section[@aria-labelledby='earlier']//tbody/tr")
    rows = [
        *zip(*(release.table.to_pydict()[name] for release in (one, two) for name in ("age", "income")), strict=True)
    ]
    sizes = [rows.count(row) for row in rows]
    assert [cell.text_content().replace("▲ ", "") for cell in cells] == [
        "earlier.csv",
        f"{min(sizes)} record" + "s" * (min(sizes) > 1),
        str(sum(size < 4 for size in sizes)),
        str(sum(size == 1 for size in sizes)),
    ]
    for wrong in ({"key": "age"}, {"against": two.table, "external": True}):
        with pytest.raises(shoal.PlanError, match="does not apply"):
            one.report(tmp_path / "other.html", **wrong)
    with refused(shoal.PlanError, "needs-groups", "against", method="mic1d"):
        release_of("mic1d").report(tmp_path / "other.html", against=two.table)
    assert not (tmp_path / "other.html").exists()
