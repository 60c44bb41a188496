"""docs/threats.md, claim by claim: each has a test that would fail if it were not so; those without a room are here."""

import ast
import os
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import openpyxl
import openpyxl.comments
import pyarrow as pa
import pytest
from tests.planted import CONFIDENTIAL, QUASI, planted_table

import shoal
import shoal.pipeline.save
from shoal.edits.load import read_rules
from shoal.errors import FileError
from shoal.evidence.published import read_published
from shoal.pipeline.manifest import load_manifest
from shoal.report import release_report
from shoal.report.charts import plot_distribution
from shoal.tables import open_table, write_table

ROOT = Path(__file__).parents[1]
THREATS = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
CODE = re.compile(r"\[([A-Z]\d+)\]")
ROLES = {"quasi": QUASI, "confidential": CONFIDENTIAL, "identifiers": ["name"]}


# The page and its tables


def section(title: str) -> str:
    return re.search(rf"^## {re.escape(title)}[^\n]*\n(.*?)(?=^## |\Z)", THREATS, re.MULTILINE | re.DOTALL)[1]


def rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without their heads."""
    body = re.findall(r"^\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    lines = [line for table in body for line in table.splitlines()]
    return [[cell.strip() for cell in line.removeprefix("|").removesuffix("|").split(" | ")] for line in lines]


def unfinished(text: str) -> list[str]:
    """Clauses of a text that claim something, and no code of a claim follows."""
    return [clause for clause in re.split(r"; ", text) if clause != "nothing" and not CODE.search(clause)]


def test_what_is_done_about_a_threat_is_a_claim_with_a_code():
    threats = rows(section("Who attacks what"))
    assert len(threats) > 20
    assert [clause for row in threats for clause in unfinished(row[3])] == []


@pytest.mark.parametrize("title", ["Three options", "Weights, order, types"])
def test_every_point_of_these_lists_is_a_claim_with_a_code(title):
    points = re.findall(r"^- (.*?)(?=^- |^\S|\Z)", section(title), re.MULTILINE | re.DOTALL)
    assert points
    assert [point for point in points if not CODE.search(point)] == []


def test_every_claim_has_a_test_and_every_code_a_claim():
    claims = [
        row
        for title in ("The page, claim by claim", "Outside the page, claim by claim")
        for row in rows(section(title))
    ]
    codes = [row[0] for row in claims]
    assert len(codes) == len({*codes})
    assert [row for row in claims if not re.fullmatch(r"`test_\w+`(, `test_\w+`)*", row[2])] == []
    said = "".join(
        section(title) for title in re.findall(r"^## (.*)$", THREATS, re.MULTILINE) if "claim by" not in title
    )
    assert {*CODE.findall(said)} == {*codes}


# What verifies


def test_what_verifies_imports_nothing_that_masks():
    pipeline = ROOT / "src" / "shoal" / "pipeline"
    looked_at = [*pipeline.glob("verify*.py"), *(pipeline / f"{name}.py" for name in ("classes", "counting"))]
    assert len(looked_at) > 3
    masks = r"shoal\.(partitioning|masking|blocking|backends|pipeline\.(partition|aggregate|masker|mask_\w+|prepare))\b"
    for path in looked_at:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not re.match(masks, node.module or ""), path
                assert node.module != "shoal.aggregation" or [each.name for each in node.names] == ["Rescaling"]


# Strangers' files


def test_nothing_evaluates_text_as_code():
    modules = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "shoal").rglob("*.py")}
    evaluates = re.compile(r"(?<![.\w])(eval|exec|compile|__import__)\(")
    assert len(modules) > 100
    assert evaluates.search("x = eval(text)")
    assert [path.name for path, text in modules.items() if evaluates.search(text)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")
def test_rules_manifests_and_figures_that_never_end_are_refused():
    for read in (read_rules, load_manifest, read_published):
        with pytest.raises(FileError):
            read("/dev/zero")


def test_authors_and_comments_of_workbooks_are_not_published(tmp_path):
    source, masked = tmp_path / "people.xlsx", tmp_path / "masked.xlsx"
    book = openpyxl.Workbook()
    book.properties.creator = book.properties.lastModifiedBy = book.properties.title = "planted word"
    for row in [("age", "pay"), *((each, each * each % 97) for each in range(20))]:
        book.active.append(row)
    book.active["A2"].comment = openpyxl.comments.Comment("planted word", "planted word")
    book.save(source)
    shoal.protect(source, k=3, quasi=["age"], confidential=["pay"]).save(masked)
    with zipfile.ZipFile(masked) as parts, zipfile.ZipFile(source) as given:
        assert any(b"planted word" in given.read(name) for name in given.namelist())
        assert not any(b"planted word" in parts.read(name) for name in parts.namelist())


# Files and their modes


@pytest.mark.slow
def test_finished_files_have_the_mode_that_the_umask_says(tmp_path):
    write_table(open_table(planted_table(100)), tmp_path / "people.csv", "csv")
    roles = ["--quasi", ",".join(QUASI), "--confidential", ",".join(CONFIDENTIAL), "--identifiers", "name"]
    command = ["protect", "people.csv", "-k", "5", *roles, "-o", "masked.csv", "--report", "report.html", "--overwrite"]
    names = ("masked.csv", "masked.csv.plan.toml", "masked.csv.manifest.json", "report.html")
    for name in names:  # whose mode is not kept
        (tmp_path / name).touch(0o600)
    run = [sys.executable, "-m", "shoal", *command]
    subprocess.run(run, cwd=tmp_path, umask=0o027, check=True, capture_output=True)
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names} == {0o640}


def test_a_file_that_is_being_written_is_its_owners_alone(tmp_path, monkeypatch):
    modes = []

    def look(table, path, kind):
        write_table(table, path, kind)
        modes.extend(stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir())

    monkeypatch.setattr(shoal.pipeline.save, "write_table", look)
    mask = os.umask(0)
    try:
        shoal.protect(planted_table(100), k=5, **ROLES).save(tmp_path / "masked.csv")
    finally:
        os.umask(mask)
    assert {*modes} == {0o600}


def test_levels_of_a_plan_are_in_its_file_alone(tmp_path):
    table = pa.table({"school": ["low", "planted level"] * 20, "age": list(range(40))})
    levels = {"school": ["low", "never seen", "planted level"]}
    types = {"school": "ordinal"}
    release = shoal.protect(
        table, k=5, quasi=["school", "age"], types=types, levels=levels, method="best", seed=987654321
    )
    release.save(tmp_path / "masked.csv")
    release.report(tmp_path / "report.html")
    assert "never seen" in (tmp_path / "masked.csv.plan.toml").read_text()
    for name in ("masked.csv", "masked.csv.manifest.json", "report.html"):
        text = (tmp_path / name).read_text()
        assert "never seen" not in text
        assert "987654321" not in text


@pytest.mark.parametrize(("k", "least"), [(30, 15.0), (3, 5.0)])
def test_every_bar_stands_for_k_and_at_least_ten_of_200_records(k, least):
    release = shoal.protect(planted_table(200), k=k, **ROLES)
    for name in QUASI:
        drawn = plot_distribution(release, name).to_dict()
        (rows,) = drawn["datasets"].values() if "datasets" in drawn else [drawn["data"]["values"]]
        shares = [row["share"] for row in rows if row["when"] == "before"]
        assert len(shares) > 1
        assert min(shares) >= least


# Other processes

SPY = """
import sys
sys.addaudithook(lambda event, given: event == "subprocess.Popen" and print(given[1], file=sys.stderr, flush=True))
sys.path.remove("")
import shoal.cli
sys.argv = ["shoal", *sys.argv[1:]]
shoal.cli.main()
"""


@pytest.mark.parametrize("kind", ["sav", pytest.param("parquet", marks=[pytest.mark.slow, pytest.mark.spark])])
def test_other_processes_get_names_of_files_and_nothing_else(kind, tmp_path):
    table = pa.table({"school": ["low", "planted"] * 100, "age": list(range(200))})
    write_table(open_table(table), tmp_path / f"people.{kind}", kind)
    options = ["--quasi", "school,age", "--type", "school=ordinal", "--levels", "school=low,planted"]
    options += ["--edit", "age >= -424242", *(["--engine", "spark"] if kind == "parquet" else [])]
    command = [sys.executable, "-c", SPY, "protect", f"people.{kind}", "-k", "5", *options, "-o", "masked.parquet"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    started = [ast.literal_eval(line) for line in run.stderr.splitlines() if line.startswith("[")]
    assert started
    for each in started:
        assert not re.search("planted|424242", " ".join(map(str, each)))
    if kind == "sav":
        assert started == [
            [sys.executable, "-P", "-m", "shoal.tables.stat.subprocess", str(tmp_path / "people.sav"), "sav"]
        ]


def test_the_driver_takes_in_no_more_than_the_page_says(monkeypatch):
    passes = pytest.importorskip("shoal.backends.spark.passes", reason="Spark needs the extra 'spark'")
    (said,) = re.findall(r"the driver up to (\d+) MB of rows \[T8\]", THREATS)
    assert int(said) << 20 == passes._COLLECTED
    piece = pa.table({"x": pa.array([0] * 1000)})
    assert passes._if_small([piece]) == [piece]
    monkeypatch.setattr(passes, "_COLLECTED", piece.nbytes - 1)
    assert passes._if_small([piece]) is None


# Options that give less

LESS = {
    "blocks": ({"blocks": [["age"], ["income"]], "confidential": CONFIDENTIAL}, "are unique in the masked columns"),
    "mic1d": (
        {"method": "mic1d", "quasi": QUASI, "confidential": CONFIDENTIAL},
        "mic1d guarantees no groups of k records",
    ),
    "hybrid": (
        {"method": "hybrid", "quasi": ["age"], "confidential": ["debt", "income"], "publish": ["illness"]},
        "Quasi-identifiers are released unchanged, so no k-anonymity is promised.",
    ),
}


@pytest.mark.parametrize("name", LESS)
def test_options_that_promise_less_than_k_say_so_everywhere(name):
    options, words = LESS[name]
    release = shoal.protect(planted_table(200), k=30, identifiers=["name"], **options)
    assert any(words in note for note in release.notes if note.severity == "warning")
    assert words in release_report(release)
    assert release.risk()["after"]["smallest"] < 30
