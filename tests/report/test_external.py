"""The report for users of the data: useful to them, and of no use to an intruder."""

import re
import sys
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.expect import prints, refused
from tests.report.report_samples import NUMBERS, PLANTED, RELEASES, assert_accessible, people, read, release_of

import shoal
from shoal import cli
from shoal.datasets import CONFIDENTIAL, QUASI, TYPES, survey
from shoal.messages import Message
from shoal.plan.policy import Policy
from shoal.report import external_report, release_report
from shoal.report.figures import Masked, distributions

POISON = 7_310_001  # no figure of these releases is as large


@pytest.fixture(scope="module")
def externals():
    made = {}

    def of(sort):
        if sort not in made:
            made[sort] = external_report(release_of(sort))
        return made[sort]

    return of


FEW = ("every type", "diverse", "blocks", "hybrid, masked")  # the others take their time
SORTS = [*FEW, *(pytest.param(sort, marks=pytest.mark.slow) for sort in RELEASES if sort not in FEW)]


@pytest.mark.parametrize("sort", SORTS)
def test_every_release_has_an_external_report_that_anybody_can_read(externals, sort):
    page = read(externals(sort))
    assert_accessible(page)
    assert page.xpath("//h2/@id")[:4] == ["done", "holds", "cite", "loss"]
    assert not [planted for planted in PLANTED if planted in externals(sort)]


def poisoned(found):
    """Replace every figure and sentence of a risk by one that cannot be mistaken."""
    match found:
        case bool() | None:
            return found
        case int() | float():
            return POISON
        case dict():
            return {name: POISON_TEXT if name == "text" else poisoned(each) for name, each in found.items()}
        case list():
            return [poisoned(each) for each in found]
    return found


POISONED = {"file", "together", "strata", "apart", "diversity", "closeness"}
POISONED |= {"before", "dominance", "households", "only"}
POISON_TEXT = f"An intruder finds {POISON} records."


def poisoned_release(release):
    """Replace all that was measured of risks."""
    verified = release.verified
    assert {each.name for each in fields(verified)} == {*POISONED, "blocks"}  # of a promise that holds: k
    return replace(
        release,
        verified=replace(
            verified,
            file=poisoned(verified.file),
            together=None if verified.together is None else {POISON: 1},
            strata=None if verified.strata is None else {POISON: 1},
            apart=[{POISON: 1} for _ in verified.apart],
            diversity=poisoned(verified.diversity),
            closeness=poisoned(verified.closeness),
            before={POISON: 1},
            dominance={"income": {"cells": POISON, "failing": POISON}},
            households=None if verified.households is None else {POISON: 1},
            only=None if verified.only is None else poisoned(verified.only),
        ),
        policy=Policy(k=2, unique_columns=0, unique_records=50, dominance=0, p_percent=10),
        notes=[
            Message("singled-out", number=POISON, records=POISON, where=Message("column-by-itself", column="age")),
            Message("groups-merged", groups=POISON),
        ],
        suppressed=POISON,
    )


@pytest.mark.parametrize("sort", SORTS)
def test_nothing_that_was_measured_of_risks_reaches_users(externals, sort):
    other = poisoned_release(release_of(sort))
    assert other.verdict.result == "failed"
    assert f"{POISON:,}" in release_report(other)
    assert external_report(other) == externals(sort)


RARER = {
    "households": {"quasi": ["rooms", "income"], "household": "home"},
    "only": {"quasi": ["town", "free"], "types": {"free": "nominal"}, "only": "at_risk"},
    "dominance": {"quasi": ["income", "debt"], "p_percent": 5, "publish": ["free"]},
    "units": {"quasi": ["income", "debt"], "unit": "home"},
}


@pytest.mark.parametrize("sort", RARER)
def test_nothing_that_was_measured_of_rarer_promises_reaches_users(sort):
    home = np.arange(160) // 2
    table = people().append_column("home", pa.array(home)).append_column("rooms", pa.array(home % 7))
    names = {*RARER[sort]["quasi"], "home" if {"household", "unit"} & {*RARER[sort]} else "free", "name"}
    release = shoal.protect(table.select([*names]), k=4, method="mdav", identifiers=["name"], **RARER[sort])
    [own] = [each for each in ("households", "only", "dominance", "before") if getattr(release.verified, each)][:1]
    assert own == {"units": "before"}.get(sort, sort)
    other = poisoned_release(release)
    assert f"{POISON:,}" in release_report(other)
    assert external_report(other) == external_report(release)


def numbers_in(texts):
    found = {number.rstrip(".,") for text in texts for number in re.findall(r"\d[\d.,]*", text)}
    return {number.replace(",", "") for number in found}


@pytest.mark.parametrize("sort", ["every type", "diverse", "blocks"])
def test_no_risk_figure_of_the_internal_report_is_in_the_external_one(externals, sort):
    release = release_of(sort)
    internal, external = read(release_report(release)), read(externals(sort))
    shown = internal.xpath("//div[contains(@class, 'verdict')] | //table[@class='worst'] | //ul[@class='warnings']")
    shown += internal.xpath("//*[@class='flag'] | //section[@aria-labelledby='risk']")
    risks = numbers_in(each.text_content() for each in shown)
    risks |= numbers_in(internal.xpath("//section[@aria-labelledby='risk']//svg/@aria-label"))
    # What anyone may know: k, l, the number of records, and the columns that are in the file.
    public = numbers_in([str(release.plan.k), str(release.plan.l), str(release.records)])
    public |= {str(len(release.published.names) - len(release.plan.dropped)), "0"}
    for drawing in external.xpath("//svg"):  # shares of at least ten records, and their axes
        drawing.drop_tree()
    for source in external.xpath("//dl | //*[@class='cite'] | //*[@class='quiet'] | //p[contains(., 'at least 10')]"):
        source.drop_tree()
    told = numbers_in([external.find("body").text_content()])
    assert len(risks - public) > 8
    assert told & (risks - public) == set()


def test_no_risk_figure_of_the_survey_is_in_its_external_report():
    policy = Policy(k=5, unique_columns=0, unique_records=0, loss=30)
    roles = {"quasi": QUASI, "confidential": CONFIDENTIAL, "types": TYPES}
    release = shoal.protect(survey(), k=5, method="mdav", policy=policy, **roles)
    internal, external = read(release_report(release)), read(external_report(release))
    shown = "//div[contains(@class, 'verdict')] | //table[@class='worst' or @class='limits'] | //*[@class='flag']"
    shown += " | //ul[@class='warnings'] | //section[@aria-labelledby='risk']"
    risks = numbers_in(each.text_content() for each in internal.xpath(shown))
    risks |= numbers_in(internal.xpath("//section[@aria-labelledby='risk']//svg/@aria-label"))
    loss, public = f"{release.loss()['IL']:.4g}", {"6366", "100"}  # records, and a word on percentages
    risks = {each for each in risks if len(each) > 2} - public - {loss}
    assert len(risks) > 12
    assert risks & numbers_in([external.find("body").text_content(), *external.xpath("//svg/@aria-label")]) == set()


def test_users_are_told_what_they_need(externals):
    page = read(externals("diverse")).text_content()
    assert "at least 4 records" in page
    assert "Preserved: " in page
    assert "every masked attribute" in page
    assert "Released unchanged: " in page
    assert "Standard errors:" in page
    assert "masked by microaggregation (" in page
    assert "Dropped: name." in page
    loss = release_of("diverse").loss()
    assert f"{loss['IL']:.1f} %" in page


def towns(rare, n=400):
    """People of whom `rare` live in a town of their own, and 15 far apart in another."""
    rng = np.random.default_rng(3)
    town = np.array(["Ayr"] * n, dtype=object)
    town[: n // 2] = "Rye"
    town[5 : 5 + rare] = "Zzyzx"
    where = np.linspace(100, 390, 15).astype(int)
    town[where] = "Wem"
    age = np.concatenate([rng.integers(20, 30, n // 2), rng.integers(60, 70, n - n // 2)]).astype(float)
    return pa.table({"age": age + rng.random(n), "town": town.tolist()})


def test_levels_that_vanished_are_named_only_if_many_records_had_them():
    release = shoal.protect(towns(rare=3), k=8, quasi=["age", "town"], method="mdav", attribute_weights={"town": 0.001})
    assert release.loss()["attributes"]["town"]["categories_vanished"] == 2
    page, internal = read(external_report(release)), read(release_report(release))
    [gone] = page.xpath("//h3[text()='What vanished']/following-sibling::ul[1]/li")
    assert gone.text_content().strip().startswith("▲ town: Wem")
    assert "Zzyzx" not in external_report(release) + release_report(release)
    assert "▲ 2 of 4 levels vanished: Wem" in internal.text_content()
    [picture] = [each for each in page.xpath("//svg/@aria-label") if "by town" in each]
    assert "(all others): 5.0 %, 0.0 %, vanished" in picture


def test_few_changed_records_cannot_be_counted():
    release = hardly_changed()
    row = release.loss()["attributes"]["town"]
    assert 0 < row["changed"] < 2.5
    cells = {
        row[0].text_content(): [cell.text_content() for cell in row[1:]]
        for row in read(external_report(release)).xpath("//section[@aria-labelledby='loss']//tbody/tr")
    }
    assert cells["town"] == ["few records", *[""] * (len(cells["town"]) - 1)]
    assert "all masked columns" not in cells  # whose loss would tell that of the town


def hardly_changed(**options):
    """Release a table of which fewer than ten records change in a column of two."""
    rng = np.random.default_rng(1)
    town = ["Ayr"] * 200 + ["Rye"] * 200
    town[7] = town[8] = "Zzyzx"
    table = pa.table({"age": np.repeat([20.0, 70.0], 200) + rng.random(400), "town": town})
    weights = {"attribute_weights": {"town": 0.01}}
    return shoal.protect(table, k=5, quasi=["age", "town"], method="mdav", **weights, **options)


def test_a_policy_does_not_give_the_withheld_loss_back():
    release = hardly_changed(policy=Policy(loss=99, analyses=0, formulas=["age ~ C(town)"]))
    assert release.verdict.limits[0].figure == release.loss()["IL"]
    page = read(external_report(release)).text_content()
    assert "Information loss (IL)" not in page
    assert "in each regression" in page
    told = shoal.protect(people(), publish="rest", policy=Policy(loss=99), **NUMBERS)
    assert "Information loss (IL)" in read(external_report(told)).text_content()


def test_bars_do_not_tell_how_few_records_moved():
    release = shoal.protect(towns(rare=3), k=8, quasi=["age", "town"], method="mdav", attribute_weights={"town": 0.001})
    few = [abs(one - two) * 4 for each in shown_inside(release) for one, two in zip(each[2], each[3], strict=True)]
    assert any(0.5 < records < 10 for records in few)  # the internal report would tell
    pictures = [text for text in read(external_report(release)).xpath("//svg/@aria-label") if "by town" in text]
    pictures += [text for text in read(external_report(release)).xpath("//svg/@aria-label") if "by age" in text]
    shares = [float(share) for text in pictures for share in re.findall(r"([\d.]+) %", text)]
    assert len(shares) > 10
    assert all(share * 4 % 10 == pytest.approx(0) for share in shares)  # tens of the 400 records


def shown_inside(release):
    return distributions(release.plan, Masked.of(release))[0]


def test_of_few_records_no_figure_is_told():
    page = read(external_report(shoal.protect(people(18), publish="rest", **NUMBERS)))
    assert "No figures" in page.text_content()
    assert not page.xpath("//svg")


def test_no_engine_tells_more_than_another(tmp_path):
    pa.parquet.write_table(people(), tmp_path / "people.parquet")
    options = {"publish": "rest", "method": "mdav", **NUMBERS}
    one, other = (
        external_report(shoal.protect(tmp_path / "people.parquet", engine=engine, output=tmp_path / "m.csv", **options))
        for engine in ("memory", "file")
    )
    assert one == other


def test_neither_the_input_nor_its_checksum_is_told(tmp_path):
    import hashlib

    pyarrow.csv.write_csv(people(), tmp_path / "secret-input.csv")
    release = shoal.protect(tmp_path / "secret-input.csv", publish="rest", **NUMBERS)
    release.save(tmp_path / "masked.csv")
    release.report(tmp_path / "internal.html")
    release.report(tmp_path / "external.html", external=True)
    internal, external = ((tmp_path / f"{name}.html").read_text() for name in ("internal", "external"))
    digest = hashlib.sha256((tmp_path / "secret-input.csv").read_bytes()).hexdigest()
    assert digest in internal
    assert digest not in external
    assert "secret-input" not in external
    published = hashlib.sha256((tmp_path / "masked.csv").read_bytes()).hexdigest()
    assert published in internal
    assert published in external


def test_options_that_do_not_go_together_are_refused(tmp_path):
    release = release_of("numbers")
    with refused(shoal.PlanError, "does-not-apply-with", "records_at_risk", other="--external"):
        release.report(tmp_path / "report.html", external=True, records_at_risk=True)
    with refused(shoal.PlanError, "does-not-apply-without", "key", option="--against"):
        release.report(tmp_path / "report.html", key="age")
    strict = replace(release, policy=Policy(k=50))
    with pytest.raises(shoal.CheckFailed):
        strict.report(tmp_path / "report.html", external=True)
    assert not [*tmp_path.iterdir()]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(people().select(["age", "income", "sick"]), "people.csv")

    def shoal_command(*arguments):
        roles = ["--quasi", "age,income", "--confidential", "sick", "--method", "mdav", "-o", "masked.csv"]
        monkeypatch.setattr(sys, "argv", ["shoal", "protect", "people.csv", "-k", "5", *roles, *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code or 0, capsys.readouterr()

    return shoal_command


def test_the_command_writes_the_external_report(run, tmp_path):
    code, said = run("--external")
    assert code == 2
    assert prints(said.err, "applies-only-with", needed="--report")
    assert not (tmp_path / "masked.csv").exists()
    code, said = run("--report", "users.html", "--external")
    assert code == 0, said.err
    assert "for users" in (tmp_path / "users.html").read_text()
    assert "Sign-off" not in (tmp_path / "users.html").read_text()


def test_there_is_no_external_report_of_a_release_that_fails_its_policy(run, tmp_path):
    (tmp_path / "strict.toml").write_text("k = 20\n")
    code, said = run("--report", "users.html", "--external", "--policy", "strict.toml")
    assert code == 1
    assert not (tmp_path / "users.html").exists()
    assert "users.html" not in said.out


def test_a_sweep_for_users_has_the_loss_alone(tmp_path):
    others = [name for name in people().column_names if name not in ("income", "debt", "town")]
    roles = {"quasi": ["income", "debt"], "identifiers": [*others, "town"]}
    found = shoal.sweep(people(), k=[3, 5], method=["tour", "mdav"], max_risk=7.31, **roles)
    found.report(tmp_path / "users.html", external=True)
    text = (tmp_path / "users.html").read_text()
    page = read(text)
    assert_accessible(page)
    cells = [[cell.text_content() for cell in row] for row in page.xpath("//tbody/tr")]
    assert cells == [[row["method"], str(row["k"]), f"{row['IL']:.1f} %"] for row in found.rows]
    other = replace(found, rows=[{**row, **dict.fromkeys(("linked", "unique", "risk"), POISON)} for row in found.rows])
    other.report(tmp_path / "other.html", external=True)
    assert (tmp_path / "other.html").read_text() == text
    assert "7.31" not in text
    roles = {"quasi": ["income", "town"], "identifiers": [*others, "debt"]}
    with refused(shoal.PlanError, "external-of-categories", "external"):
        shoal.sweep(people(), k=[3], method="mdav", **roles).report(tmp_path / "no.html", external=True)


def test_odd_characters_are_shown_by_their_codes():
    table = pa.table({"a\x1b[2K\u202e": np.arange(60.0), "b": np.arange(60.0) ** 2})
    text = external_report(shoal.protect(table, k=3, method="mdav"))
    assert r"a\x1b[2K\u202e" in text
    assert not {each for each in text if not each.isprintable()} - {"\n"}
