"""Workbooks of several sheets: the one that is named is read, and nothing is chosen silently."""

import openpyxl
import pyarrow as pa
import pytest
from tests.expect import refused

import shoal
from shoal.app.worker import inspect, look, risk_utility
from shoal.errors import DataError, PlanError
from shoal.parallel import quiet
from shoal.plan import Plan
from shoal.tables import open_table

AGES = [20 + i * i % 37 for i in range(24)]
ROLES = {"k": 3, "quasi": ["age", "pay"]}
MASKED = {"age": [age // 40 for age in AGES]}


def save(path, **sheets):
    """Save a workbook of sheets that are columns by their names; one with none stays empty."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, columns in sheets.items():
        sheet = book.create_sheet(title)
        for row in [[*columns], *zip(*columns.values(), strict=True)] if columns else []:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def book(tmp_path):
    people = {"age": AGES, "pay": [7 * age % 90 for age in AGES]}
    return save(tmp_path / "book.xlsx", notes={"note": ["a", "b"]}, people=people, blank={})


@pytest.fixture
def masked(tmp_path):
    return save(tmp_path / "masked.xlsx", Data=MASKED)


def test_the_sheet_that_is_named_is_read(book):
    assert open_table(book, sheet="people").names == ["age", "pay"]
    assert open_table(book, sheet="notes").to_arrow().to_pydict() == {"note": ["a", "b"]}


@pytest.mark.parametrize("sheet", ["blank", "adults", "People", ""])
def test_what_is_no_sheet_with_data_is_refused_with_the_names_of_those_that_are(book, sheet):
    with refused(PlanError, "no-such-sheet", "sheet", sheet=sheet, path=str(book), sheets=["notes", "people"]):
        open_table(book, sheet=sheet)


def test_several_sheets_are_refused_until_one_is_named(book):
    with refused(DataError, "several-sheets", path=str(book), sheets=["notes", "people"]) as caught:
        shoal.protect(book, **ROLES)
    assert ("--sheet", None) in caught.value.messages[0].options


@pytest.mark.parametrize("engine", [None, "file"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "dataframe"])
def test_a_sheet_does_not_apply_to_other_tables(tmp_path, kind, engine):
    table = open_table(pa.table(MASKED))
    path = tmp_path / f"in.{kind}"
    if kind == "dataframe":
        path, engine = table.native, None
    else:
        shoal.tables.write_table(table, path, kind)
    options = {"k": 3, "quasi": ["age"], "engine": engine, "output": str(tmp_path / "out.csv")}
    for work, more in (
        (shoal.protect, options),
        (open_table, {}),
        (shoal.roles, {}),
        (shoal.check, {"k": 3}),
        (shoal.risk, {"keys": ["age"]}),
    ):
        with refused(PlanError, "only-for-format", "sheet", format="Excel"):
            work(path, **more, sheet="people")


def test_the_plan_beside_a_release_gives_the_same_bytes(book, tmp_path):
    first, second = tmp_path / "first.xlsx", tmp_path / "second.xlsx"
    shoal.protect(book, **ROLES, sheet="people").save(first)
    beside = Plan.load(f"{first}.plan.toml")
    assert beside.sheet == "people"
    shoal.protect(plan=beside).save(second)
    assert second.read_bytes() == first.read_bytes()
    assert openpyxl.load_workbook(first).sheetnames == ["Data"]


def test_a_plan_with_a_sheet_is_applied_to_a_dataframe_without_it(book):
    plan = Plan(**ROLES, input=str(book), sheet="people")
    table = open_table(book, sheet="people").native
    assert shoal.protect(table, plan).table.equals(shoal.protect(plan=plan).table)


def test_differential_privacy_reads_the_sheet_too(book):
    release = shoal.protect(
        book, k=3, quasi=["age"], identifiers=["pay"], sheet="people", epsilon=1, bounds={"age": [0, 99]}
    )
    assert len(release.table) == len(AGES)


def test_what_looks_at_a_file_takes_the_sheet(book):
    found = shoal.roles(book, sheet="people")
    assert [each.column for each in found] == ["age", "pay"]
    assert found.plan(k=3).sheet == "people"
    assert len(shoal.sweep(book, k=[2, 3], quasi=["age", "pay"], sheet="people").rows) == 2
    assert [rule["broken"] for rule in shoal.rules(book, ["age < 20"], sheet="people")] == [len(AGES)]
    assert len(shoal.risk(book, ["age"], sheet="people").individual) == len(AGES)


def test_of_several_files_those_are_read_so_that_have_the_sheet(book, masked, tmp_path):
    assert shoal.assess(book, masked, quasi=["age"], sheet="people")["records"] == len(AGES)
    both = save(tmp_path / "both.xlsx", people=MASKED, more={"x": [1]})
    assert shoal.assess(book, both, quasi=["age"], sheet="people")["records"] == len(AGES)
    found = shoal.check(masked, 3, ["age"], against=[both], sheet="people")
    assert found["records"] == len(AGES)


def test_a_sheet_that_none_of_several_files_has_is_refused(book, masked):
    with refused(PlanError, "no-such-sheet", "sheet", path=str(book), sheets=["notes", "people"]):
        shoal.assess(book, masked, sheet="adults")
    with refused(PlanError, "no-such-sheet", "sheet", path=str(masked), sheets=["Data"]):
        shoal.check(masked, 3, sheet="adults")


def test_the_page_reads_the_sheet_of_its_form(book):
    found = inspect(str(book), quiet, {"sheet": "people"})
    assert (found["records"], found["reading"]) == (len(AGES), {"sheet": "people"})
    assert sum(row[1] for row in look(str(book), "age", quiet, {"sheet": "people"}, values=True)["rows"]) > 99
    assert risk_utility(str(book), {**ROLES, "sheet": "people"}, quiet)["records"] == len(AGES)
