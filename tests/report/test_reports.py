"""The report of a release and the map of a sweep: complete, readable by all, and silent on what is private."""

import hashlib
import re
import subprocess
import sys
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.expect import prints, refused
from tests.report.report_samples import NUMBERS, PLANTED, RELEASES, assert_accessible, people, read, release_of

import shoal
from shoal.errors import DataError, FileError, PlanError
from shoal.report import release_html, release_report, sweep_html, sweep_report, write_report
from shoal.report.charts import (
    _COLOURS,
    FELL,
    INK,
    MUTED,
    ROSE,
    plot_correlations,
    plot_distribution,
    plot_map,
    plot_sizes,
)


@pytest.fixture(scope="module")
def reports():
    made = {}

    def of(sort):
        if sort not in made:
            made[sort] = release_report(release_of(sort))
        return made[sort]

    return of


@pytest.mark.parametrize("sort", RELEASES)
def test_every_release_has_a_report_that_anybody_can_read(reports, sort):
    page = read(reports(sort))
    assert_accessible(page)
    first = ["verdict", "worst", "columns", "provenance", "earlier", "sign"]
    assert page.xpath("//h2/@id") == [*first, "done", "risk", "loss", "values", "limits", "asked", "repeating"]
    assert all(heading.text_content() for heading in page.xpath("//h2"))


@pytest.mark.parametrize("sort", RELEASES)
def test_no_planted_value_is_in_a_report_or_a_notebook(reports, sort):
    shown = reports(sort) + release_html(release_of(sort))
    assert [planted for planted in PLANTED if planted in shown] == []


def test_no_number_of_a_report_is_an_original_value(reports):
    table = people()
    figures = set(re.findall(r"\d+\.\d{2,}", re.sub(r"<svg.*?</svg>", "", reports("numbers"), flags=re.DOTALL)))
    for name in ("income", "debt", "wealth"):
        originals = {f"{value:.{digits}f}" for value in table[name].to_pylist() for digits in range(2, 8)}
        assert not figures & originals


def test_the_picture_of_a_distribution_is_made_of_shares_only():
    said = plot_distribution(release_of("numbers"), "income").to_dict()
    [rows] = said["datasets"].values() if "datasets" in said else [said["data"]["values"]]
    assert {key for row in rows for key in row} == {"value", "when", "share"}
    assert all(round(row["share"], 1) == row["share"] for row in rows)


def test_confidential_attributes_are_in_no_picture(reports):
    for sort in ("numbers", "hybrid", "hybrid, masked", "ms"):
        pictures = [each.get("aria-label") for each in read(reports(sort)).xpath("//svg")]
        assert not any("records by wealth" in said or "records by sick" in said for said in pictures)


@pytest.mark.parametrize(
    ("sort", "parts"),
    [
        ("numbers", ["k = 4 holds", "3 masked attributes", "160 records"]),
        ("blocks", ["k = 4 holds within", "2 attribute blocks", "k is not promised"]),
        ("mic1d", ["No k is"]),
        ("hybrid", ["no k is", "released unchanged"]),
        ("hybrid, masked", ["k = 20 holds for", "quasi-identifiers"]),
        ("ms", ["1 confidential attribute", "made by ms"]),
    ],
)
def test_the_verdict_is_one_sentence_at_the_top(reports, sort, parts):
    said = read(reports(sort)).xpath("//p[@class='held']")[0].text_content()
    assert [part for part in parts if part not in said] == []
    assert len(re.findall(r"\.(\s|$)", said)) == 1


def test_figures_are_those_of_the_summary(reports):
    summary = release_of("numbers").summary()
    page = read(reports("numbers"))
    cells = {row[0].text_content(): [cell.text_content() for cell in row[1:]] for row in page.xpath("//tbody/tr")}
    assert cells["Unique records"][:2] == [f"{summary['risk'][when]['uniques']:,}" for when in ("before", "after")]
    assert cells["all attributes"][1] == f"{summary['loss']['IL']:.2f} %"
    # A table cell of the roles has the same name as one of the loss: the later one is kept.
    assert cells["income"][1] == f"{summary['loss']['attributes']['income']['IL']:.2f} %"
    for note in summary["notes"]:
        assert note["text"] in page.text_content()


def test_what_a_plan_asks_for_is_shown(reports):
    plan = tomllib.loads(read(reports("every type")).xpath("//pre")[0].text)
    assert plan["quasi"] == RELEASES["every type"]["quasi"]
    assert "levels" not in plan
    assert '# levels of "size": 4' in read(reports("every type")).text_content()


def test_rules_record_blocks_and_strata_are_told(reports):
    assert "wages + other == costs" in reports("edits")
    assert "record blocks of" in reports("record blocks")
    assert "strata known too" in reports("strata")
    assert "within the strata" in reports("strata")
    assert "left out." in reports("suppressed")


def test_a_certificate_is_told():
    pytest.importorskip("highspy")
    release = shoal.protect(people(40), k=3, quasi=["age", "income"], publish="rest", method="mdav", bound=True)
    assert "above the lowest" in release_report(release)


def test_records_at_most_risk_are_named_only_if_asked_for(reports):
    release = release_of("blocks")
    assert "at most risk" not in reports("blocks")
    page = read(release_report(release, records_at_risk=True))
    [said] = page.xpath("//h3[contains(., 'at most risk')]/following-sibling::p[2]")
    positions = [int(text) for text in said.text_content().split(" and ")[0].split(", ")]
    table = release.table.select(release.plan.masked).to_pandas()
    alike = table.groupby(list(table.columns))[table.columns[0]].transform("size").to_numpy()
    assert positions == (np.flatnonzero(alike == alike.min()) + 1)[:50].tolist()


def test_the_hash_is_that_of_the_published_file(tmp_path):
    release = release_of("numbers")
    release.save(tmp_path / "masked.csv")
    text = release_report(release, saved=tmp_path / "masked.csv")
    assert hashlib.sha256((tmp_path / "masked.csv").read_bytes()).hexdigest() in text
    assert str(tmp_path) not in text


def test_no_folder_is_in_a_report(tmp_path):
    folder = tmp_path / "secret-folder"
    folder.mkdir()
    pq.write_table(people(), folder / "people.parquet")
    release = shoal.protect(folder / "people.parquet", output=folder / "masked.csv", publish="rest", **NUMBERS)
    text = release_report(release)
    assert "secret-folder" not in text
    assert 'input = "people.parquet"' in read(text).text_content()


def test_names_are_shown_as_text_and_never_as_markup():
    odd = ['a"b&c <b>', 'a role="x"', "{{ 7 * 7 }}", "a.b[0]"]
    table = pa.table({name: np.arange(40.0) ** at for at, name in enumerate(["<script>alert(1)</script>", *odd], 1)})
    release = shoal.protect(table, k=3)
    page = read(release_report(release).replace("&lt;script&gt;", ""))
    assert not page.xpath("//b")
    assert all(page.text_content().count(name) >= 3 for name in odd)  # in tables and in a picture
    read_cell = release_html(release)
    assert "<script" not in read_cell
    assert "<b>" not in read_cell


def test_a_report_is_the_same_every_time():
    one, other = (release_report(shoal.protect(people(), publish="rest", **NUMBERS)) for _ in range(2))
    assert one == other


def test_where_k_counts_units_so_do_the_figures():
    table = people().select(["income", "debt", "region"]).append_column("firm", pa.array(np.arange(160) // 2))
    text = release_report(
        shoal.protect(table, k=4, method="mdav", quasi=["income", "debt"], unit="firm", publish="rest")
    )
    page = read(text)
    [sizes] = [each for each in page.xpath("//svg/@aria-label") if "How many groups there are" in each]
    assert sizes.endswith(" units.")
    assert "units in a" in text
    assert "records in a" not in text
    assert "than 4 units" in page.text_content()
    words = [each.text_content() for each in page.xpath("//section[@aria-labelledby='loss']//dt")]
    assert words == ["IL", "Mean moved", "Variance kept", "Correlation moved"]  # of levels, there are none


def test_records_too_few_to_be_shown():
    page = read(release_report(shoal.protect(people(12), publish="rest", **NUMBERS)))
    assert "age, income, debt" in page.xpath("//section[@aria-labelledby='values']")[0].text_content()
    assert_accessible(page)


def test_a_constant_attribute_has_a_report():
    table = pa.table({"same": [1.0] * 30, "age": np.arange(30.0)})
    assert_accessible(read(release_report(shoal.protect(table, k=3))))


@pytest.fixture(scope="module")
def swept():
    others = [name for name in people().column_names if name not in ("income", "debt")]
    options = {"quasi": ["income", "debt"], "identifiers": others}
    return shoal.sweep(people(), k=range(3, 9), method=["tour", "mdav"], max_risk=20, max_loss=90, **options)


def test_a_sweep_is_a_page(swept):
    page = read(sweep_report(swept))
    assert_accessible(page)
    assert len(page.xpath("//svg")) == 1
    assert "risk limit 20 %" in page.xpath("//svg")[0].text_content()
    assert len(page.xpath("//table")[0].xpath("./tbody/tr")) == len(swept)
    [chosen] = page.xpath("//tr[@class='chosen']")
    assert chosen[0].text_content() == swept.chosen["method"]
    assert chosen[1].text_content() == str(swept.chosen["k"])
    [said] = page.xpath("//p[@class='verdict']")
    assert prints(said.text_content(), "limits-met", k=swept.chosen["k"], method=swept.chosen["method"])
    assert "<table" in sweep_html(swept)


@pytest.mark.parametrize(
    ("k", "options"),
    [([3], {"quasi": ["income", "debt"]}), ([3, 4, 5], {"quasi": ["income", "town"], "method": "mdav"})],
)
def test_a_sweep_without_limits_is_a_page(k, options):
    page = read(sweep_report(shoal.sweep(people(), k=k, publish="rest", **options)))
    assert_accessible(page)
    assert not [planted for planted in PLANTED if planted in page.text_content()]


def test_a_sweep_of_what_is_constant_is_a_page():
    found = shoal.sweep(pa.table({"a": [1.0] * 20, "b": [2.0] * 20}), k=[3, 4], quasi=["a", "b"])
    assert not read(sweep_report(found)).xpath("//svg")
    assert "<table" in sweep_html(found)


def test_plots_are_altair_charts_or_say_why_not(swept):
    import altair as alt

    release = release_of("numbers")
    for chart in (plot_sizes(release), plot_distribution(release, "age"), plot_correlations(release), plot_map(swept)):
        assert isinstance(chart, alt.LayerChart)
    assert plot_map(swept, "linked").to_dict()["description"].startswith("The loss in")
    with refused(DataError, "no-before-and-after", column="wealth"):
        plot_distribution(release, "wealth")
    with refused(DataError, "no-such-attribute-block", block=2, blocks=1):
        plot_sizes(release, 2)
    with refused(DataError, "too-few-for-bars", column="age", least=10):
        plot_distribution(shoal.protect(people(12), publish="rest", **NUMBERS), "age")
    with refused(DataError, "no-correlations"):
        plot_correlations(release_of("one attribute"))
    with refused(DataError, "no-group-sizes", method="ms"):
        plot_sizes(release_of("ms"))
    with refused(PlanError, "not-a-choice", "risk", choices=["risk", "linked", "unique"]):
        plot_map(swept, "nonsense")
    with refused(DataError, "nothing-to-draw"):
        plot_map(shoal.sweep(pa.table({"a": [1.0] * 20}), k=[3, 4], quasi=["a"]))


def test_a_report_is_written_whole_and_over_nothing(tmp_path):
    path = tmp_path / "report.html"
    write_report("one", path)
    with refused(FileError, "file-exists", path=str(path)):
        write_report("two", path)
    write_report("two", path, overwrite=True)
    assert path.read_text() == "two"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    with refused(FileError, "report-not-html", path=str(tmp_path / "report.csv")):
        write_report("three", tmp_path / "report.csv")


def test_a_missing_extra_is_said():
    code = """
import sys
from shoal.errors import MissingExtra
for module in ("altair", "jinja2", "vl_convert"):
    sys.modules[module] = None
    try:
        import shoal.report
    except MissingExtra as error:
        print(error.code, *error.messages[0].data.values())
    for name in [name for name in sys.modules if name.startswith("shoal.report") or name == module]:
        del sys.modules[name]
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^(\S+) .* (\S+)$", said, re.MULTILINE) == [("missing-extra", "report")] * 3


def contrast(one, two):
    """The contrast of two colours by the Web Content Accessibility Guidelines."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_all_text_has_enough_contrast(reports):
    style = reports("numbers").split("</style>")[0]
    colours = dict(re.findall(r"--(\w+): (#\w{6})", style))
    for text in (colours["ink"], colours["muted"], colours["accent"], INK, MUTED, *_COLOURS):
        assert contrast(text, "#ffffff") >= 4.5
        assert contrast(text, colours["wash"]) >= 4.5
    assert min(contrast(INK, FELL), contrast(INK, ROSE)) >= 4.5
