"""protect() with methods hybrid and ms: what is kept, what nobody publishes, and what stays secret."""

import csv
import datetime as dt
import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import prints, refused, reports

import shoal
from hybrid_samples import HYBRID, MS, assert_kept, columns, people
from shoal import cli
from shoal.aggregation import aggregate
from shoal.backends.memory import MemoryRecords
from shoal.masking import microhybrid
from shoal.measures import distance_linkage
from shoal.pipeline.hybrid_parts import parts_of
from shoal.pipeline.masker import in_order
from shoal.pipeline.prepare import prepare
from shoal.pipeline.resolve import resolve
from shoal.tables import Table, write_table

FEW = ["EMCONTRB", "PTOTVAL", "INTVAL", "WSALVAL"]


@pytest.fixture(params=["census", "tarragona", "eia"])
def reference_table(request, reference_file):
    with reference_file(request.param).open(newline="") as file:
        names, *rows = csv.reader(file)
    which = [0, *range(5, 15)] if request.param == "eia" else range(13)
    which = [j for j in which if names[j] != "ERNVAL"]  # in most records what others are
    return pa.table({names[j]: [float(row[j]) for row in rows] for j in which})


@pytest.mark.parametrize("k", [30, 50])
def test_means_and_covariances_are_kept_on_the_reference_sets(reference_table, k):
    X, Y = reference_table.column_names[1::2], reference_table.column_names[::2]
    release = shoal.protect(reference_table, k=k, method="hybrid", quasi=Y, confidential=X)
    assert_kept(reference_table, release, X, Y)
    before, after = columns(reference_table, X), columns(release.table, X)
    own = np.abs(after - before) <= 1e-12 * np.abs(before)
    for g, j in {(release.groups[i], j) for i, j in np.argwhere(own)}:
        assert np.ptp(before[release.groups == g, j]) == 0
        assert reports(release.notes, "same-in-groups", column=X[j])
    assert np.bincount(release.groups).min() >= k


@pytest.mark.slow
@pytest.mark.parametrize("k", range(5, 51))
def test_what_is_released_is_kept_for_every_admissible_k(reference_table, k):
    names = reference_table.column_names
    for width in range(2, len(names) + 1):
        X, Y = names[1:width:2], names[:width:2]
        if k < len(Y) + 1 + max(2 * len(X), 4):
            continue
        table = reference_table.select(names[:width])  # others would give originals away: they are sums of each other
        try:
            release = shoal.protect(table, k=k, method="hybrid", quasi=Y, confidential=X)
        except shoal.DataError as error:
            if not {*error.codes} <= {"unchanged-by-quasi", "unchanged-last-digits"}:
                raise
            continue
        assert_kept(table, release, X, Y)


def test_what_the_quasi_identifiers_add_up_to_is_refused_by_name(reference_file):
    # PTOTVAL is the sum of POTHVAL and PEARNVAL.
    asked = {"k": 40, "method": "hybrid", "confidential": ["PTOTVAL", "FICA"], "quasi": ["POTHVAL", "PEARNVAL"]}
    with refused(shoal.DataError, "unchanged-by-quasi", column="PTOTVAL", records=1080):
        shoal.protect(reference_file("census"), publish="rest", **asked)
    release = shoal.protect(reference_file("census"), publish="rest", **asked, mask_quasi=True)
    assert release.risk()["after"]["smallest"] >= 40


def encoded(plan, table):
    """Return the masker, and the records as rows in the order of their values, with that order."""
    records = MemoryRecords(Table(table))
    masker = prepare(resolve(plan.updated(publish="rest"), records), records).masker
    rows = records.rows(masker)
    order = in_order(rows)
    return masker, rows[order], order


def test_k_of_all_records_is_ipso_on_the_file():
    table = people()
    release = shoal.protect(table, publish="rest", **{**HYBRID, "k": 120}, seed=5)
    masker, rows, order = encoded(shoal.Plan(publish="rest", **{**HYBRID, "k": 120}, seed=5), table)
    one_group = np.zeros(len(rows), dtype=np.int64)
    attributes = masker.of(rows)
    noise, _ = masker.hybrid.drawn(attributes, parts_of(attributes, masker.plan))
    expected = microhybrid(rows[:, [3, 2]], rows[:, :2], one_group, noise).values  # in the order of their names
    np.testing.assert_allclose(columns(release.table, ["debt", "income"])[order], expected)


@pytest.mark.parametrize("k", [7, 20, 120])
@pytest.mark.parametrize("ipso", ["independent", "orthogonal"])
def test_both_forms_of_ipso_keep_means_and_covariances_up_to_k_of_all_records(ipso, k):
    table = people()
    release = shoal.protect(table, publish="rest", **{**HYBRID, "k": k}, ipso=ipso, seed=5)
    assert_kept(table, release, ["income", "debt"], ["age", "height"])
    products = []
    for g in np.unique(release.groups):
        members = release.groups == g
        V, W = (columns(each, ["income", "debt", "age", "height"])[members] for each in (table, release.table))
        A = np.column_stack([np.ones(len(V)), V[:, 2:]])
        E, new = (x - A @ np.linalg.lstsq(A, x)[0] for x in (V[:, :2], W[:, :2]))
        products.append(np.abs(E.T @ new / np.outer(np.linalg.norm(E, axis=0), np.linalg.norm(new, axis=0))).max())
    assert (max(products) < 1e-9) == (ipso == "orthogonal")
    assert reports(release.notes, "release-once") == (ipso == "orthogonal")
    assert reports(release.notes, "solvable-groups", k=k, safe=9) == (ipso == "orthogonal" and k == 7)


def test_revisions_with_orthogonal_residuals_show_the_original_and_the_warning_says_so():
    rng = np.random.default_rng(3)
    y, n = rng.normal(size=12), 12
    x = 2 * y + rng.normal(size=n)
    beside = np.column_stack([np.ones(n), y])
    avoided = [*beside.T]
    for revision in range(10):
        corrected = pa.table({"y": y, "x": x + np.eye(n)[0] * 1e-6 * revision})
        release = shoal.protect(corrected, k=n, method="hybrid", quasi="y", confidential="x", ipso="orthogonal", seed=1)
        published = release.table["x"].to_numpy()
        fit = beside @ np.linalg.lstsq(beside, published)[0]
        avoided.append((published - fit) / np.linalg.norm(published - fit))
    residuals = np.linalg.svd(np.array(avoided))[2][-1] * np.linalg.norm(published - fit)
    assert min(abs(fit + sign * residuals - x).max() for sign in (1, -1)) < 1e-3
    assert reports(release.notes, "release-once")


def test_the_two_forms_of_ipso_share_no_noise_and_neither_do_other_groups():
    # With the same noise z, residuals of both forms would differ by a multiple of the original ones; and so would
    # orthogonal ones of a group with one more member, or beside another quasi-identifier.
    table = people(24).select(["age", "income"])
    asked = {"method": "hybrid", "confidential": ["income"], "seed": 5}
    x = table["income"].to_numpy() - table["income"].to_numpy().mean()
    forms = [
        shoal.protect(table, k=24, publish=["age"], **asked),
        shoal.protect(table, k=24, publish=["age"], ipso="orthogonal", **asked),
        shoal.protect(table, k=24, quasi=["age"], ipso="orthogonal", **asked),
    ]
    assert shoal.protect(table, k=24, publish=["age"], ipso="orthogonal", **asked).table.equals(forms[1].table)
    values = [form.table["income"].to_numpy() for form in forms]
    published = [each - each.mean() for each in values]
    for one in (0, 2):
        rest = published[one] - published[1] * (published[one] @ published[1]) / (published[1] @ published[1])
        assert abs(rest @ x) / np.linalg.norm(rest) / np.linalg.norm(x) < 0.9


@pytest.mark.parametrize(
    "options",
    [
        *({"partition": name} for name in ("mdav", "pca", "zscores", "tour")),
        {"partition": "vmdav", "gain": 1.1},
        {"partition": "best", "budget": 50},
        {"partition": "tour", "refine": True, "budget": 50},
    ],
)
def test_any_method_may_form_the_groups(options):
    table = people()
    release = shoal.protect(table, publish="rest", **HYBRID, **options, seed=5)
    assert_kept(table, release, ["income", "debt"], ["age", "height"])
    effort = {name: value for name, value in options.items() if name != "partition"}
    V = columns(table, ["age", "height", "income", "debt"])[
        np.lexsort(columns(table, ["debt", "income", "height", "age"]).T)
    ]
    alone = shoal.partition(V, 10, options["partition"], **effort)
    assert sorted(np.bincount(alone)) == sorted(np.bincount(release.groups))


def test_one_attribute_may_be_partitioned_optimally():
    table = people().select(["income"])
    release = shoal.protect(table, k=10, method="hybrid", confidential=["income"], partition="univariate", seed=5)
    x = table["income"].to_numpy()
    for g in np.unique(release.groups):
        members = np.sort(x[release.groups == g])
        assert ((x >= members[0]) & (x <= members[-1])).sum() == len(members)


@pytest.mark.parametrize("k", [10, 30, 50])
def test_hybrid_data_are_linked_about_as_often_as_averages_and_keep_more(reference_file, k):
    asked = {"confidential": FEW, "identifiers": ["PEARNVAL", "ERNVAL"], "publish": "rest"}  # what would give FEW away
    release = shoal.protect(reference_file("census"), k=k, method="hybrid", seed=k, **asked)
    original = Table(shoal.protect(reference_file("census"), k=2, quasi=FEW, publish="rest").published.source.native)
    X = original.matrix(FEW)
    plain = np.column_stack([aggregate(x, release.groups, "mean") for x in X.T])
    linked = release.summary()["hybrid"]["linkage"]["expected"]
    assert linked <= distance_linkage(X, plain)["expected"] + 1
    assert all(row["variance_ratio"] == pytest.approx(1) for row in release.loss()["attributes"].values())
    assert release.loss()["correlation_change"] == pytest.approx(0, abs=1e-9)


def test_the_summary_measures_what_was_preserved():
    summary = shoal.protect(people(), publish="rest", **HYBRID).summary()
    found = summary["hybrid"]
    assert max(*found["preserved"]["file"].values(), *found["preserved"]["groups"].values()) < 1e-9
    for row in found["preserved"]["attributes"].values():
        assert row["lemma_2"]["measured"] <= row["lemma_2"]["bound"]
        assert len(row["moments"]["third"]) == len(row["moments"]["fourth"]) == 2
    statistics = {"mean", "variance", "third moment", "fourth moment", "correlation"}
    assert {row["statistic"] for row in found["subdomains"]} == statistics
    assert min(row["records"] for row in found["subdomains"]) >= 20
    assert shoal.protect(people(39), publish="rest", **HYBRID).summary()["hybrid"]["subdomains"] == []
    assert list(summary["loss"]["attributes"]) == ["income", "debt"]
    json.dumps(summary)


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(20, 60),
    st.integers(14, 20),
    st.booleans(),
    st.sampled_from(["independent", "orthogonal"]),
)
def test_collinear_and_constant_columns_are_kept_too(seed, n, k, mask_quasi, ipso):
    rng = np.random.default_rng(seed)
    a, y = rng.lognormal(size=n), rng.normal(size=n)
    table = pa.table(
        {"a": a, "b": 3 - 2 * a, "same": np.full(n, 7.25), "few": rng.integers(0, 3, n) + 0.5, "y": y, "z": -y}
    )
    X = ["a", "b", "same", "few"]
    options = {"k": min(k, n), "method": "hybrid", "quasi": ["y", "z"], "confidential": X, "mask_quasi": mask_quasi}
    release = shoal.protect(table, **options, ipso=ipso)
    assert_kept(table, release, X, [] if mask_quasi else ["y", "z"])
    np.testing.assert_allclose(release.table["b"].to_numpy(), 3 - 2 * release.table["a"].to_numpy(), atol=1e-8)
    assert reports(release.notes, "same-in-groups", column="same")
    assert not np.isclose(release.table["a"].to_numpy(), a, rtol=1e-12, atol=0).any()


def test_quasi_identifiers_stay_unless_they_are_to_be_masked():
    table = people()
    asked = {**HYBRID, "quasi": ["age", "height", "town"]}
    as_they_are = shoal.protect(table, publish="rest", **asked)
    assert as_they_are.table.select(["age", "height", "town"]).equals(table.select(["age", "height", "town"]))
    assert reports(as_they_are.notes, "quasi-unchanged")
    assert reports(as_they_are.notes, "no-covariances", columns=["town"])
    masked = shoal.protect(table, publish="rest", **asked, mask_quasi=True)
    assert masked.risk()["after"]["smallest"] >= 10
    np.testing.assert_allclose(
        masked.table["height"].to_numpy(), aggregate(table["height"].to_numpy(), masked.groups, "mean")
    )
    assert_kept(table, masked, ["income", "debt"], [])


def test_categories_are_dealt_out_anew_within_groups():
    table = people()
    release = shoal.protect(table, publish="rest", **{**HYBRID, "confidential": ["income", "ill", "town"]})
    for name in ("ill", "town"):
        before, after = np.array(table[name]), np.array(release.table[name])
        assert (before != after).any()
        for g in np.unique(release.groups):
            assert sorted(before[release.groups == g]) == sorted(after[release.groups == g])
    assert_kept(table, release, ["income"], ["age", "height"])
    only = shoal.protect(table, k=2, method="hybrid", confidential=["ill"], quasi=["town"], publish="rest")
    assert only.summary()["hybrid"]["dealt"] == ["ill"]
    assert reports(only.notes, "same-in-groups", column="ill")


def test_groups_stay_within_strata_even_where_they_must_grow():
    rng = np.random.default_rng(3)
    lone = np.zeros(120)
    lone[:6] = rng.normal(size=6)  # six records that are told from all others by this attribute
    table = people().append_column("lone", [lone]).append_column("half", [["u", "v"] * 60])
    asked = {**HYBRID, "quasi": ["age", "lone"], "strata": ["half"]}
    release = shoal.protect(table, publish="rest", **asked)
    for g in np.unique(release.groups):
        assert len(set(np.array(table["half"])[release.groups == g])) == 1
    assert_kept(table, release, ["income", "debt"], ["age", "lone"])


def test_dates_and_short_floats_are_kept_up_to_their_rounding():
    rng = np.random.default_rng(0)
    days = [dt.date(1980, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 9000, 80)]
    table = pa.table({"day": days, "short": pa.array(rng.normal(size=80), pa.float32()), "long": rng.normal(size=80)})
    release = shoal.protect(table, k=12, method="hybrid", confidential=["day", "short", "long"])
    assert release.table.schema.equals(table.schema)
    assert reports(release.notes, "preserved-up-to-rounding", columns=["day", "short"])
    assert release.summary()["hybrid"]["preserved"]["file"]["means"] < 1e-3


def test_constraints_hold_and_the_release_says_what_they_cost():
    table = people()
    constraints = {"children": ["integer", "non-negative"], "debt": "non-negative"}
    asked = {**HYBRID, "confidential": ["income", "debt", "children"], "constraints": constraints}
    release = shoal.protect(
        table, publish=["town", "ill"], **asked, seed=1
    )  # one draw in a hundred gives most children back, and is refused
    assert release.table["children"].type == pa.int64()
    assert min(release.table["children"].to_pylist()) >= 0
    assert min(release.table["debt"].to_pylist()) >= 0
    cost = release.summary()["hybrid"]["constraints"]
    assert cost["children"]["moved"] > 0
    after, before = (np.array(each["children"]) for each in (release.table, table))
    own = (after == before).sum()
    assert own > 0
    assert reports(release.notes, "own-values-released", column="children", records=own)
    assert cost["children"]["group_mean"] >= abs(cost["children"]["mean"])
    moved = abs(np.mean(release.table["children"].to_pylist()) - np.mean(table["children"].to_pylist()))
    assert abs(cost["children"]["mean"]) == pytest.approx(moved / np.std(table["children"].to_pylist()), abs=1e-9)
    assert reports(release.notes, "cost-of-constraint", column="children", rules=["integer", "non-negative"])
    assert_kept(table, release, ["income"], ["age", "height"])


@pytest.mark.parametrize(
    "alpha", [0.4, [0.4, 0.4], {"debt": 0.4, "income": 0.4}, [[0.4, 0], [0, 0.4]], np.array([0.4, 0.4])]
)
def test_ms_takes_alpha_in_every_form(alpha):
    table = people()
    release = shoal.protect(table, publish="rest", **{**MS, "alpha": alpha}, seed=3)
    assert_kept(table, release, ["income", "debt"], ["age", "height"])
    A = np.column_stack([np.ones(120), columns(table, ["age", "height"])])
    before, after = (columns(each, ["income", "debt"]) for each in (table, release.table))
    E, new = (V - A @ np.linalg.lstsq(A, V)[0] for V in (before, after))
    np.testing.assert_allclose(np.linalg.lstsq(E, new)[0], 0.4 * np.eye(2), atol=1e-9)
    assert "k" not in release.summary()["plan"]


def test_an_alpha_that_takes_too_much_is_explained_and_another_offered():
    rng = np.random.default_rng(0)
    a = rng.normal(size=100)
    table = pa.table({"a": a, "b": a + 0.1 * rng.normal(size=100)})
    with refused(shoal.DataError, "alpha-inadmissible") as one:
        shoal.protect(table, method="ms", alpha=[0.9, 0.1], confidential=["a", "b"])
    with refused(shoal.DataError, "alpha-inadmissible") as two:
        shoal.protect(table, method="ms", alpha=[[0.9, 0], [0, 0.1]], confidential=["a", "b"])
    offered = (caught.value.messages[0].data["offered"] for caught in (one, two))
    assert [np.shape(each) for each in offered] == [(2,), (2, 2)]


@pytest.mark.parametrize("asked", [HYBRID, MS])
def test_the_seed_decides_and_is_never_published(asked, tmp_path):
    table = people()
    one, two = (shoal.protect(table, publish="rest", **asked, seed=123456789) for _ in range(2))
    assert one.table.equals(two.table)
    kept = shoal.protect(table, publish="rest", **asked)
    assert not kept.table.equals(one.table)
    for number, (release, said) in enumerate(((one, "Keep the seed secret"), (kept, "keeper's secret"))):
        release.save(tmp_path / f"{number}.csv")
        text = (tmp_path / f"{number}.csv.plan.toml").read_text()
        assert "seed" not in text
        assert "123456789" not in text + json.dumps(release.summary()) + repr(release)
        assert any(said in note for note in release.notes)


def test_records_and_attributes_that_hardly_move_are_told():
    table = people()
    height = table["height"].to_numpy()
    table = table.set_column(table.column_names.index("debt"), "debt", [3 * height + 1e-3 * np.arange(120) % 7])
    assert reports(shoal.protect(table, publish="rest", **HYBRID).notes, "nearly-follows", column="debt")
    far = np.where(np.arange(120) == 5, 3e3, height)
    table = people().set_column(2, "height", [far])
    assert reports(shoal.protect(table, publish="rest", **HYBRID).notes, "hardly-moved", records=1)
    assert reports(shoal.protect(table, publish="rest", **MS).notes, "hardly-any-noise", alpha=True)


def test_an_attribute_that_rounding_gives_back_to_most_is_refused():
    age = people()["age"].to_numpy()
    table = people().append_column("tax", [np.rint(0.37 * age).astype(int)])
    asked = {**HYBRID, "confidential": ["tax"], "constraints": {"tax": "integer"}}
    with refused(shoal.DataError, "unchanged-after-rounding", column="tax"):
        shoal.protect(table, publish="rest", **asked)


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("ns"), pa.timestamp("s")])
def test_dates_stay_in_the_calendar(kind):
    first = [dt.date(1, 1, 1 + i % 9) for i in range(30)] if kind != pa.timestamp("ns") else [dt.date(1678, 1, 1)] * 30
    last = [dt.date(9999, 12, 1 + i) for i in range(30)] if kind != pa.timestamp("ns") else [dt.date(1960, 1, 1)] * 30
    table = pa.table({"day": pa.array(first + last, pa.date32()).cast(pa.timestamp("s")).cast(kind)})
    release = shoal.protect(table, k=60, method="hybrid", confidential=["day"])
    years = [day.year for day in release.table["day"].cast(pa.timestamp("s"), safe=False).to_pylist()]
    assert min(years) >= 1
    assert max(years) <= 9999
    assert reports(release.notes, "cost-of-constraint", column="day", rules=["in the calendar"])


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.parametrize("asked", [HYBRID, MS])
def test_units_do_not_matter(asked, unit):
    table = people()
    income = table["income"].to_numpy() / 1e5
    table = table.set_column(table.column_names.index("income"), "income", [income * unit])
    release = shoal.protect(table, publish="rest", **asked)
    assert np.std(release.table["income"].to_numpy() / unit) == pytest.approx(np.std(income))
    assert max(release.summary()["hybrid"]["preserved"]["file"].values()) < 1e-9


def test_distances_may_be_of_confidential_numbers_only():
    table = people()
    asked = {"k": 10, "method": "hybrid", "quasi": ["town"], "confidential": ["income"], "seed": 1}
    release = shoal.protect(table, standardize="minmax", publish="rest", **asked)
    assert release.table["town"].to_pylist() == table["town"].to_pylist()
    assert np.bincount(release.groups).min() >= 10
    assert max(release.summary()["hybrid"]["preserved"]["file"].values()) < 1e-9


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("asked", [HYBRID, {**HYBRID, "mask_quasi": True}, MS])
def test_a_file_is_verified_and_its_plan_runs_again(asked, ending, tmp_path):
    release = shoal.protect(people(), publish="rest", **asked)
    release.save(tmp_path / f"masked.{ending}")
    plan = shoal.Plan.load(tmp_path / f"masked.{ending}.plan.toml")
    again = shoal.protect(people(), plan.updated(output=None), publish="rest")
    assert again.plan.options() == release.plan.options()


def test_records_that_miss_a_value_are_refused_or_left_out():
    income = people()["income"].to_pylist()
    table = people().set_column(4, "income", [[None, *income[1:]]])
    with refused(shoal.DataError, "missing-values", column="income", first=1):
        shoal.protect(table, publish="rest", **HYBRID)
    release = shoal.protect(table, publish="rest", **HYBRID, missing="suppress")
    assert release.suppressed == 1
    assert reports(release.notes, "incomplete-left-out", records=1)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_table(Table(people()), tmp_path / "people.parquet", "parquet")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["shoal", "protect", "people.parquet", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return call


def test_the_command_line_makes_hybrid_data_and_shows_what_they_keep(run):
    roles = ["--quasi", "age,height", "--confidential", "income,children", "--identifiers", "name", "--publish-rest"]
    rules = ["--constraint", "children=non-negative,integer", "--mask-quasi"]
    code, out, _ = run("--method", "hybrid", "-k", 12, *roles, *rules, "-o", "masked.csv")
    assert code == 0
    for words in ("2 confidential attributes made hybrid by hybrid, k = 12", "third moment", "Lemma 2", "children"):
        assert words in out
    code, out, _ = run("--method", "ms", "--alpha", "income=0.2", "--alpha", "children=0.3", *roles, "-o", "ms.csv")
    assert code == 0
    assert "made hybrid by ms, without groups" in out
    code, out, _ = run(
        "--method", "ms", "--alpha", 0.2, "--confidential", "income", "--publish-rest", "-o", "out.csv", "--json"
    )
    assert "seed" not in json.loads(out)["plan"]
    code, _, err = run("--method", "ms", "--alpha", 2, "-k", 3, *roles, "-o", "no.csv")
    assert code == 2
    assert prints(err, "not-for-method", kind="method", method="ms")
    assert prints(err, "alpha-out-of-range")


def test_a_folder_is_made_hybrid_in_pieces(run, tmp_path):
    (tmp_path / "people").mkdir()
    (tmp_path / "people.parquet").rename(tmp_path / "people" / "part.parquet")
    (tmp_path / "people").rename(tmp_path / "people.parquet")
    code, out, _ = run("--method", "hybrid", "-k", 12, "--confidential", "income", "--publish-rest", "-o", "masked.csv")
    assert code == 0
    assert "made hybrid by hybrid, k = 12" in out
    code, out, _ = run("--method", "ms", "--alpha", 0.3, "--confidential", "income", "--publish-rest", "-o", "ms.csv")
    assert code == 0
    assert "made hybrid by ms" in out


def test_a_record_that_alone_varies_is_refused_with_the_printed_ipso():
    x = np.ones(40)
    x[7] = 5.0
    table = pa.table({"x": x, "y": np.random.default_rng(0).normal(size=40)})
    asked = {"k": 20, "method": "hybrid", "confidential": ["x", "y"], "seed": 1}
    with refused(shoal.DataError, "unchanged-orthogonal", column="x"):
        shoal.protect(table, **asked, ipso="orthogonal")
