"""Files larger than memory keep rules: in every block, with the same lattice, records never mixed that rules part."""

import signal
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.backends.backend_samples import RULED, RULES, broken_rules, firms, masked_in_memory, saved
from tests.backends.test_resume import start, undisturbed
from tests.expect import refused, reports

import shoal
from shoal.backends.file import run as local
from shoal.edits import passes as engine_edits
from shoal.edits.passes import Broken, Domain
from shoal.errors import CheckFailed, DataError, FileError, PlanError
from shoal.messages import Message
from shoal.pipeline.masker import BlockMasker
from shoal.plan import Plan
from shoal.release import protect_file


def run(table: pa.Table, folder: Path, name: str = "out.parquet", **options):
    source = saved(table, folder / "in.parquet")
    scale = {"block_size": 150, "memory": "400MB", **options.pop("scale", {})}
    asked = {"k": 3, "quasi": RULED, "identifiers": ["id"], "publish": "rest", "edits": RULES, **options}
    return protect_file(Plan(input=str(source), output=str(folder / name), scale=scale, **asked), overwrite=True)


def smallest_group(path: Path, names: list[str]) -> int:
    keys = ", ".join(f'"{name}"' for name in names)
    return duckdb.sql(f"SELECT min(n) FROM (SELECT count(*) AS n FROM '{path}' GROUP BY {keys})").fetchall()[0][0]


@pytest.mark.parametrize("seed", range(4))
def test_no_rule_is_broken_and_groups_have_k(tmp_path, seed):
    table = firms(1500, seed)
    assert not any(broken_rules(table).values())
    k = 3 + seed
    release = run(table, tmp_path, k=k)
    written = pq.read_table(tmp_path / "out.parquet")
    assert not any(broken_rules(written).values())
    assert smallest_group(tmp_path / "out.parquet", RULED) >= k
    assert release.blocking.blocks > 10
    assert written.column("region").equals(table.column("region"))
    assert not broken_rules(pq.read_table(tmp_path / "in.parquet"))["sum"]


def test_without_rules_they_are_broken(tmp_path):
    """Or the test above tests nothing."""
    run(firms(1500), tmp_path, edits=None)
    found = broken_rules(pq.read_table(tmp_path / "out.parquet"))
    assert min(found[name] for name in ("sum", "product", "loss", "domain", "capped")) > 0


def test_one_block_publishes_what_protect_publishes(tmp_path):
    table = firms(400)
    release = run(table, tmp_path, scale={"block_size": None})
    in_memory = shoal.protect(table, k=3, quasi=RULED, identifiers="id", publish="rest", edits=RULES)
    written = pq.read_table(tmp_path / "out.parquet")
    assert release.blocking is None
    assert len(release.published.masker.parts.sizes) == 4  # profit or loss, south or not
    for name in RULED:
        np.testing.assert_array_equal(written.column(name), in_memory.table.column(name), err_msg=name)
    assert release.plan.aggregate == in_memory.plan.aggregate
    assert release.summary()["edits"] == in_memory.summary()["edits"]


def test_records_that_rules_part_share_no_group(tmp_path):
    table = firms(1200)
    release = run(table, tmp_path)
    written = pq.read_table(tmp_path / "out.parquet")
    side = (table.column("profit").to_numpy() <= 0) * 2 + (
        table.column("region").to_numpy(zero_copy_only=False) == "south"
    )
    groups: dict[tuple, set] = {}
    for record, part in zip(zip(*(written.column(name).to_pylist() for name in RULED), strict=True), side, strict=True):
        groups.setdefault(record, set()).add(int(part))
    assert all(len(parts) == 1 for parts in groups.values())
    assert release.blocking.blocks > 4
    assert release.blocking.cost is None


@pytest.mark.slow
@pytest.mark.parametrize("scale", [{}, {"blocking": "2^d", "dimensions": ["wages", "profit", "cap"]}])
def test_pieces_and_the_order_of_rows_do_not_matter(tmp_path, monkeypatch, scale):
    table = firms(900)
    run(table, tmp_path, "one.parquet", scale=scale)
    monkeypatch.setattr(local, "_ROWS", 64)  # so that in most pieces of a sorted file no record of some part is
    run(table.sort_by([("region", "ascending"), ("profit", "ascending")]), tmp_path, "two.parquet", scale=scale)
    one, two = (pq.read_table(tmp_path / name) for name in ("one.parquet", "two.parquet"))
    assert sorted(map(repr, one.select(RULED).to_pylist())) == sorted(map(repr, two.select(RULED).to_pylist()))


def test_a_part_is_masked_as_if_it_were_alone(tmp_path):
    table = firms(900)
    options = {"edits": [RULES[5], *RULES[4:5]], "standardize": "none"}
    run(table, tmp_path, **options)
    whole = pq.read_table(tmp_path / "out.parquet")
    for where in (pc.equal(table.column("region"), "south"), pc.not_equal(table.column("region"), "south")):
        run(table.filter(where), tmp_path, "alone.parquet", **options)
        assert pq.read_table(tmp_path / "alone.parquet").to_pylist() == whole.filter(where).to_pylist()


def test_missing_values(tmp_path):
    rng = np.random.default_rng(3)
    table, gaps = firms(900), rng.random(900) < 0.1
    for name in ("wages", "costs"):
        values = pa.array(table.column(name).to_numpy(), mask=gaps)
        table = table.set_column(table.schema.get_field_index(name), name, values)
    rules = ["wages is missing or wages + other == costs", *RULES[2:6]]
    release = run(table, tmp_path, edits=rules, missing="group")
    written = pq.read_table(tmp_path / "out.parquet")
    wages, other, costs = (written.column(name).to_numpy() for name in ("wages", "other", "costs"))
    assert (np.isnan(wages) | np.isnan(costs) | (wages + other == costs)).all()
    assert np.isnan(wages).any()
    assert release.blocking.blocks > 6


def test_one_part_is_as_if_nothing_parted(tmp_path):
    table = firms(800)
    rule = "if region == 'west' then cap <= 30"
    parted = run(table, tmp_path, "one.parquet", edits=[*RULES[:1], rule])
    run(table, tmp_path, "two.parquet", edits=RULES[:1])
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert parted.blocking.cost is not None


def test_the_lattice_is_that_of_the_whole_file(tmp_path):
    """The first block has whole numbers, another has quarters: sums are exact in ticks that serve both."""
    n = 600
    a = np.arange(n) + np.where(np.arange(n) < 301, 0, 0.25)
    b = np.arange(n)[::-1] * 1.0
    table = pa.table({"a": a, "b": b, "c": a + b})
    options = {"method": "mdav", "scale": {"block_size": 100}}
    run(table, tmp_path, quasi=["a", "b", "c"], identifiers=[], edits=["a + b == c"], **options)
    written = pq.read_table(tmp_path / "out.parquet")
    a, b, c = (written.column(name).to_numpy() for name in "abc")
    assert (a + b == c).all()
    ticks = a[:300] * 2.0**12  # two binary digits and ten more
    assert (ticks == np.rint(ticks)).all()
    assert (a * 2.0**10 != np.rint(a * 2.0**10)).any()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_csv_files_with_rules_on_columns_that_are_not_masked(tmp_path, kind):
    table = firms(600).append_column("opened", pa.array(np.datetime64("2001-01-01") + np.arange(600)))
    pacsv.write_csv(table, tmp_path / "in.csv")
    rules = [*RULES, "opened >= '2001-01-01'", "if opened < '2001-12-31' then cap <= 90", "size in {'s', 'l'}"]
    plan = Plan(
        k=3,
        quasi=RULED,
        publish="rest",
        edits=rules,
        input=str(tmp_path / "in.csv"),
        output=str(tmp_path / f"out.{kind}"),
        scale={"block_size": 100},
    )
    release = protect_file(plan)
    assert release.blocking.blocks > 7
    written = pacsv.read_csv(tmp_path / "out.csv") if kind == "csv" else pq.read_table(tmp_path / "out.parquet")
    assert not any(broken_rules(written).values())
    broken = [Message("rule-broken", rule="late", records=365, first=1)]
    with refused(DataError, "original-breaks-rules", broken=broken):
        protect_file(plan.updated(edits=["late: opened >= '2002-01-01'"]), overwrite=True)


def spoiled(table: pa.Table) -> pa.Table:
    """Break two rules, in three records."""
    costs, cap = (table.column(name).to_numpy().copy() for name in ("costs", "cap"))
    costs[[10, 700]] += 7
    south = np.flatnonzero(table.column("region").to_numpy(zero_copy_only=False) == "south")
    cap[south[5]] = 80
    for name, values in (("costs", costs), ("cap", cap)):
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values))
    return table


def spoiled_rules(table: pa.Table) -> list[Message]:
    """The rules that a spoiled table breaks, as messages name them."""
    south = np.flatnonzero(table.column("region").to_numpy(zero_copy_only=False) == "south")
    found = (("sum", 2, 11), ("capped", 1, int(south[5]) + 1))
    return [Message("rule-broken", rule=rule, records=records, first=first) for rule, records, first in found]


def test_originals_that_break_rules_are_refused_in_the_words_of_protect(tmp_path):
    table = spoiled(firms(800))
    with refused(DataError, "original-breaks-rules", broken=spoiled_rules(table)) as engine:
        run(table, tmp_path)
    with pytest.raises(DataError) as in_memory:
        shoal.protect(table, k=3, quasi=RULED, identifiers="id", publish="rest", edits=RULES)
    assert str(engine.value) == str(in_memory.value)
    assert not (tmp_path / "out.parquet").exists()
    assert not (tmp_path / ".out.parquet.shoal").exists()


def test_originals_that_break_rules_are_kept_and_excused(tmp_path):
    table = spoiled(firms(800))
    release = run(table, tmp_path, edits_original="keep")
    written = pq.read_table(tmp_path / "out.parquet")
    found = broken_rules(written)
    assert 0 < found["sum"] < 20
    assert 0 < found["capped"] < 10
    assert not any(count for name, count in found.items() if name not in ("sum", "capped"))
    assert reports(release.notes, "records-kept-that-break-rules", records=3, broken=spoiled_rules(table), more=0)


def test_rounding_in_the_original_breaks_no_rule(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 99, 300) / 10, rng.integers(1, 99, 300) / 10
    table = pa.table({"a": a, "b": b, "c": (a + b).round(1)})
    assert (a + b != table.column("c").to_numpy()).any()
    exact = '<pattern><rule context="Record"><assert test="a + b = c">off</assert></rule></pattern>'
    (tmp_path / "rules.sch").write_text(exact)
    options = {"quasi": ["a", "b", "c"], "identifiers": [], "edits": str(tmp_path / "rules.sch")}
    run(table, tmp_path, scale={"block_size": 60}, **options)
    written = [pq.read_table(tmp_path / "out.parquet").column(name).to_numpy() for name in "abc"]
    assert (written[0] + written[1] == written[2]).all()


def test_originals_that_break_rules_are_left_out_as_in_memory(tmp_path):
    table = spoiled(firms(800))
    release = run(table, tmp_path, edits_original="exclude")
    written = pq.read_table(tmp_path / "out.parquet")
    assert release.suppressed == 3
    assert not any(broken_rules(written).values())
    assert written.to_pylist() == masked_in_memory(table, release.plan).to_pylist()


def test_rules_that_cannot_be_kept_are_refused(tmp_path):
    table = firms(300)
    with refused(PlanError, "rule-on-unknown-column", "edits", column="wage"):
        run(table, tmp_path, edits=["wage > 0"])
    two = {"rules": ["few"], "number": 2, "counts": "record", "parts": 1, "k": 3}
    with refused(DataError, "small-parts", **two):
        run(table, tmp_path, edits=["few: if id in {'f3', 'f4'} then cap >= 0"], identifiers=[])
    twice = pa.array(table.column("other").to_numpy() * table.column("hours").to_numpy())
    odd = table.append_column("twice", twice)
    way = Message("rule-needs-geometric-mean", rule="p", column="twice")
    first = int(np.flatnonzero(table.column("other").to_numpy() <= 0)[0]) + 1
    with refused(DataError, "not-positive", column="other", first=first, rule=way):
        run(odd, tmp_path, quasi=["other", "hours", "twice"], edits=["p: other * hours == twice"])


def test_more_values_than_can_be_known_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_edits, "MOST_VALUES", 3)
    with refused(DataError, "too-many-values-for-rule", column="grade", most=3):
        run(firms(300), tmp_path)


def test_domains_add_up():
    rng = np.random.default_rng(0)
    pieces = [rng.integers(0, 40, 30).astype(float) for _ in range(5)]
    total = sum((Domain.of(pa.array(piece)) for piece in pieces[1:]), Domain.of(pa.array(pieces[0])))
    np.testing.assert_array_equal(total.values.to_numpy(), np.unique(np.concatenate(pieces)))
    wanted = [np.array([3.0, np.nan, 3.5]), np.array([7.0, -1.0])]
    there = set(np.concatenate(pieces))
    assert total.among(wanted).to_pylist() == [value for value in (3.0, 7.0) if value in there]
    texts = Domain.of(pa.array(["b", "a", None])) + Domain.of(pa.array(["c", "a"]))
    assert sorted(texts.values.to_pylist()) == ["a", "b", "c"]
    nothing = Domain.of(pa.array([None], pa.float64())) + Domain.of(pa.array([2, 1]))
    assert nothing.values.to_pylist() == [1.0, 2.0]


def test_broken_rules_add_up():
    one, two = Broken({0: (2, 5)}, 2), Broken({0: (1, 9), 3: (4, 7)}, 5)
    assert one + two == two + one == Broken({0: (3, 5), 3: (4, 7)}, 7)
    assert (Broken({0: (2, None)}, 2) + Broken({0: (1, None)}, 1)).rules == {0: (3, None)}


def test_a_release_that_breaks_a_rule_is_noticed_and_gone(tmp_path, monkeypatch):
    decode = BlockMasker.decode

    def off(self, published, rescaled):
        columns = decode(self, published, rescaled)
        return {**columns, "costs": pa.array(columns["costs"].to_numpy() + 1)}

    monkeypatch.setattr(BlockMasker, "decode", off)
    with refused(CheckFailed, "release-breaks-rule", rule="sum", records=800, first=1, medoid=True):
        run(firms(800), tmp_path)
    with refused(CheckFailed, "release-breaks-rule", rule="sum", first=None) as caught:
        run(spoiled(firms(800)), tmp_path, edits_original="keep")
    [records] = [each.data["records"] for each in caught.value.failures if each.data.get("rule") == "sum"]
    assert 700 <= records < 800  # all but those in two groups
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_a_value_far_outside_its_group_is_noticed_in_spite_of_rules(tmp_path):
    slack = run(firms(600), tmp_path).published.promise.slack
    assert max(slack[name] for name in ("wages", "other", "costs")) < 1
    assert slack["bill"] == np.inf


@pytest.fixture
def plan(tmp_path) -> Path:
    source = saved(firms(3000), tmp_path / "in.parquet")
    (tmp_path / "rules.txt").write_text("\n".join(RULES))
    (tmp_path / "plan.toml").write_text(
        f'k = 3\nquasi = {RULED}\nidentifiers = ["id"]\npublish = "rest"\ninput = "{source}"\noutput = "out.parquet"\n'
        'edits = "rules.txt"\n[scale]\nblock_size = 150\nmemory = "400MB"\n'
    )
    return tmp_path / "plan.toml"


def test_a_killed_run_is_resumed_with_the_same_rules_only(plan):
    expected = undisturbed(plan)
    for step, calls in (("sort", 0), ("block", 12)):
        assert start(plan, "resume", step, calls).wait() == -signal.SIGKILL
    rules = plan.with_name("rules.txt")
    rules.write_text("\n".join([*RULES[:-1], "range: 1 <= wages <= 6000"]))
    with pytest.raises(FileError, match="input or rules"):
        protect_file(Plan.load(plan), resume=True)
    rules.write_text("\n".join(["# the same", *RULES]))
    protect_file(Plan.load(plan), resume=True)
    assert plan.with_name("out.parquet").read_bytes() == expected
