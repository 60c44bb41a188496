"""Every k in one run: shoal.sweep and its command."""

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import codes, refused, reports

import shoal
from shoal.cli.sweep import sizes_of
from shoal.evidence.limits import Limits
from shoal.evidence.sweep import Sweep
from shoal.kernels.encoded import MEAN, MODE, EncodedMatrix
from shoal.measures import linkage
from shoal.messages import Message

OPTIONS = {"quasi": ["age", "income"], "publish": ["town"]}


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pa.table(
        {"age": rng.integers(18, 90, 90), "income": rng.normal(2000, 500, 90), "town": ["n", "s", "w"] * 30}
    )


def test_a_row_says_what_a_release_of_its_own_would(people):
    rows = shoal.sweep(people, k=[3, 4, 7], method=["tour", "mdav"], quasi=["age", "income"], publish=["town"]).rows
    assert [(row["method"], row["k"]) for row in rows] == [(m, k) for m in ("tour", "mdav") for k in (3, 4, 7)]
    for row in rows:
        release = shoal.protect(people, k=row["k"], method=row["method"], quasi=["age", "income"], publish=["town"])
        assert row["IL"] == pytest.approx(release.loss()["IL"])
        assert row["groups"] == len(np.unique(release.groups))
        assert row["risk"] == max(row["linked"], row["unique"])
        assert 0 < row["linked"] <= 100 / row["k"]


def test_types_weights_strata_and_edits_are_swept_without_a_method(people):
    mixed = people.append_column("w", pa.array(np.random.default_rng(1).uniform(1, 2, 90)))
    mixed = mixed.append_column("gap", pa.array([None, *range(89)]))
    options = {"quasi": ["age", "income", "gap", "town"], "weights": "w", "missing": "group"}
    rows = shoal.sweep(mixed, k=[3, 5], **options).rows
    assert [row["method"] for row in rows] == ["best", "best"]
    assert all(0 < row["linked"] <= 100 / row["k"] for row in rows)
    rows = shoal.sweep(people, k=[3, 5], quasi=["age", "income"], strata=["town"]).rows
    assert rows[0]["groups"] > rows[1]["groups"]
    assert len(shoal.sweep(people, k=[3], quasi=["age", "income"], publish=["town"], edits=["age is integer"])) == 1


def test_uniques_are_of_all_released_columns_but_sensitive_ones(people):
    keyed = people.drop_columns(["town"]).append_column("key", pa.array(range(90)))
    roles = {"identifiers": ["key"], "confidential": ["key"], "publish": ["key"]}
    found = {
        role: shoal.sweep(keyed, k=3, method="mdav", quasi=["age", "income"], **{role: names}).rows[0]
        for role, names in roles.items()
    }
    assert found["publish"]["unique"] == found["publish"]["risk"] == 100
    assert found["identifiers"]["unique"] == found["confidential"]["unique"] == 0
    assert found["publish"]["linked"] == found["identifiers"]["linked"]


@pytest.mark.parametrize("gaps", [False, True])
def test_linkage_by_the_distance_that_masked_is_that_of_a_search_by_hand(gaps):
    rng = np.random.default_rng(4)
    original = np.column_stack([rng.normal(size=40), rng.integers(0, 3, 40)])
    groups = np.repeat(np.arange(10), 4)
    published = np.array([original[groups == g].mean(axis=0).round(0) for g in groups])
    if gaps:
        original[3, 0] = published[groups == 5, 0] = np.nan
    kinds, weights = np.array([MEAN, MODE]), np.array([1.0, 2.0])

    def space(values):
        return EncodedMatrix(values, kinds, weights, np.ones(2), np.array([0, 3]))

    def apart(x, y):
        if np.isnan(x[0]) or np.isnan(y[0]):
            number = 0.0 if np.isnan(x[0]) and np.isnan(y[0]) else 1.0
        else:
            number = (x[0] - y[0]) ** 2
        return number + 2.0 * (x[1] != y[1])

    expected = 0.0
    for i, x in enumerate(original):
        distances = np.array([apart(x, y) for y in published])
        nearest = np.flatnonzero(distances == distances.min())
        expected += (i in nearest) / len(nearest)
    assert linkage(space(original), space(published))["expected"] == pytest.approx(100 * expected / 40)


def row(k, loss, risk, unique=0.0):
    return {"method": "mdav", "k": k, "IL": loss, "linked": risk, "unique": unique, "risk": max(risk, unique)}


ROWS = [row(3, 2.0, 30.0), row(5, 4.0, 18.0), row(8, 9.0, 9.0), row(10, 12.0, 8.0)]


@pytest.mark.parametrize(
    ("limits", "k"),
    [
        ({"max_risk": 20}, 5),
        ({"max_risk": 9.0}, 8),
        ({"max_loss": 10}, 3),
        ({"max_loss": 10, "min_k": 4}, 5),
        ({"max_risk": 20, "min_k": 6}, 8),
        ({"min_k": 3}, 3),
    ],
)
def test_the_k_that_meets_the_limits_with_the_least_loss_is_named(limits, k):
    found = Sweep(shoal.Plan(k=3), ROWS, Limits(**limits))
    assert (found.chosen["k"], found.nearest) == (k, None)
    assert reports([found.verdict], "limits-met", k=k, method="mdav", limits=found.limits.phrases)


def test_if_no_k_meets_the_limits_the_nearest_is_named_with_what_it_misses():
    found = Sweep(shoal.Plan(k=3), ROWS, Limits(max_risk=10, max_loss=5))
    assert (found.chosen, found.nearest["k"]) == (None, 8)
    limits = [Message("figure-at-most", figure="risk", limit=10), Message("figure-at-most", figure="loss", limit=5)]
    missed = [Message("figure-too-high", figure="loss", points=4.0)]
    figures = {"k": 8, "method": "mdav", "loss": 9.0, "risk": 9.0, "unique": None}
    assert reports([found.verdict], "limits-missed", limits=limits, missed=missed, **figures)
    assert found.to_dict()["missed"] == {"loss": 4.0}
    unique = Sweep(shoal.Plan(k=3), [row(3, 2.0, 30.0, unique=97.0)], Limits(max_risk=10, min_k=2))
    limits = [Message("figure-at-most", figure="risk", limit=10), Message("k-at-least", limit=2)]
    missed = [Message("figure-too-high", figure="risk", points=87.0)]
    assert reports([unique.verdict], "limits-missed", limits=limits, missed=missed, unique=97.0)


def test_without_limits_no_k_is_named():
    found = Sweep(shoal.Plan(k=3), ROWS)
    assert (found.chosen, found.nearest) == (None, None)
    assert codes([found.verdict]) == ["no-limits-set"]


def test_csv_and_json_hold_the_rows(people):
    found = shoal.sweep(people, k=range(3, 6), quasi=["age", "income"], publish=["town"])
    assert len(found.to_csv().splitlines()) == 4
    assert json.loads(found.to_json())["rows"] == found.rows


@pytest.mark.parametrize(
    ("options", "code", "field", "data"),
    [
        ({"k": []}, "names-none", "k", {"what": "group size"}),
        ({"method": []}, "names-none", "method", {"what": "method"}),
        ({"method": "mic1d"}, "not-in-a-sweep", "method", {"value": "mic1d"}),
        ({"method": ["ms"]}, "not-in-a-sweep", "method", {"value": "ms"}),
        ({"method": ["tour", "hybrid"]}, "not-in-a-sweep", "method", {"value": "hybrid"}),
        ({"method": "insensitive"}, "not-in-a-sweep", "method", {"value": "insensitive"}),
        ({"method": None}, "methods-not-names", "method", {}),
        ({"k": None}, "group-sizes-unreadable", "k", {}),
        ({"k": "35"}, "group-sizes-unreadable", "k", {}),
        ({"bound": True}, "not-in-a-sweep", "bound", {}),
        ({"max_risk": -1}, "too-small", "max_risk", {"limit": 0}),
        ({"max_risk": 101}, "too-large", "max_risk", {"limit": 100}),
        ({"max_risk": float("nan")}, "not-a-number", "max_risk", {}),
        ({"max_loss": "5"}, "not-a-number", "max_loss", {}),
        ({"max_loss": True}, "not-a-number", "max_loss", {}),
        ({"min_k": 1}, "too-small", "min_k", {"limit": 2}),
        ({"min_k": 2.5}, "not-whole", "min_k", {}),
        ({"min_k": 50}, "min-k-above-all", "min_k", {"first": 3, "least": 50}),
        ({"method": "mdav", "tour": "savings"}, "not-for-any-method", "tour", {"methods": ["mdav"], "method": "tour"}),
    ],
)
def test_requests_that_no_sweep_can_meet_are_refused(people, options, code, field, data):
    with refused(shoal.PlanError, code, field, **data):
        shoal.sweep(people, **{**OPTIONS, **options})


@pytest.mark.parametrize(("field", "value"), [("k", [0, 3]), ("method", "nonsense"), ("method", ["tour", "nonsense"])])
def test_a_sweep_takes_methods_and_sizes_that_a_plan_takes(people, field, value):
    with pytest.raises(shoal.PlanError, match=f"^{field}: must be"):
        shoal.sweep(people, **{**OPTIONS, field: value})


def test_a_k_beyond_the_table_is_refused_with_the_largest_that_can_be(people):
    with refused(shoal.DataError, "k-too-large", k=91, number=90, first=3):
        shoal.sweep(people, k=[3, 91], **OPTIONS)


def test_sizes_are_read():
    assert sizes_of("3-5,8") == [3, 4, 5, 8]
    for wrong in ("", "a", "5-3", "3-", "-3", "2-99999999"):
        with pytest.raises(shoal.PlanError):
            sizes_of(wrong)


def test_what_groups_must_be_besides_large_counts_in_a_sweep_too(people):
    town = {"confidential": ["town"], "quasi": ["age", "income"], "l": 2}
    [row] = shoal.sweep(people, k=3, method="tour", **town)
    assert row["groups"] == len(set(shoal.protect(people, k=3, method="tour", **town).groups))
    [row] = shoal.sweep(people, k=[3], method="tour", quasi=["age", "income"], publish="rest", scale={"block_size": 30})
    assert row["groups"] == len(
        set(
            shoal.protect(
                people, k=3, method="tour", quasi=["age", "income"], publish="rest", scale={"block_size": 30}
            ).groups
        )
    )


def test_missing_values_and_a_budget_for_those_that_search(people):
    age = people["age"].to_pylist()
    gaps = people.set_column(0, "age", pa.array([None, *age[1:]]))
    assert shoal.sweep(gaps, k=[3], quasi=["age", "income"], publish="rest", missing="impute").rows[0]["smallest"] >= 3
    rows = shoal.sweep(
        people, k=[3], method=["tour", "best"], budget=1000, quasi=["age", "income"], publish=["town"]
    ).rows
    assert rows[1]["IL"] <= rows[0]["IL"] * 1.2


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("tour", {}),
        ("tour", {"tour": "savings"}),
        ("npn-mhm", {}),
        ("cbfs-mhm", {}),
        ("auto", {}),
        ("tour", {"publish": [], "strata": ["town"]}),
        ("tour", {"publish": [], "confidential": ["town"], "l": 2}),
        ("mdav", {"edits": ["age is integer"]}),
        ("tour", {"scale": {"block_size": 30}}),
    ],
)
def test_each_file_of_a_sweep_is_the_one_that_protect_writes(people, tmp_path, method, more):
    options = {**OPTIONS, **more}
    found = shoal.sweep(people, k=[3, 5], method=method, **options)
    found.save(tmp_path / "masked-{k}.csv")
    for k in (3, 5):
        release = shoal.protect(people, k=k, method=method, **options)
        release.save(tmp_path / "alone.csv", overwrite=True)
        for ending in ("", ".plan.toml", ".manifest.json"):
            swept = (tmp_path / f"masked-{k}.csv{ending}").read_text().replace(f"masked-{k}.csv", "alone.csv")
            assert swept == (tmp_path / f"alone.csv{ending}").read_text()
        assert found.labels[k].tolist() == release.groups.tolist()
        assert found.release(k).notes == release.notes
    assert [(each.method, each.k, each.path.name) for each in found.saved] == [
        (method, k, f"masked-{k}.csv") for k in (3, 5)
    ]


def test_a_release_of_a_sweep_is_a_whole_release(people, tmp_path):
    release = shoal.sweep(people, k=range(3, 6), method="tour", **OPTIONS).release(4)
    alone = shoal.protect(people, k=4, method="tour", **OPTIONS)
    assert release.table.equals(alone.table)
    assert (release.loss(), release.risk(), release.plan) == (alone.loss(), alone.risk(), alone.plan)
    release.save(tmp_path / "masked.parquet")
    shoal.check(tmp_path / "masked.parquet", k=4, quasi=["age", "income"])


def test_one_tour_serves_every_k(people, monkeypatch):
    from shoal.partitioning import tours

    made = []
    monkeypatch.setattr(tours, "tour", lambda X, *given, tour=tours.tour: made.append(len(X)) or tour(X, *given))
    found = shoal.sweep(people, k=range(2, 30), method="tour", **OPTIONS)
    found.release(7)
    assert made == [90]
    shoal.sweep(people, k=range(2, 12), method="tour", quasi=["age", "income"], strata=["town"])
    assert sorted(made) == [30, 30, 30, 90]


def test_from_no_change_to_one_group(people):
    found = shoal.sweep(people, k=[1, 2, 46, 90], method=["mdav", "tour"], max_loss=100, **OPTIONS)
    by = {(row["method"], row["k"]): row for row in found}
    for method in ("mdav", "tour"):
        nothing, everything = by[method, 1], by[method, 90]
        assert (nothing["IL"], nothing["groups"], nothing["largest"]) == (0, 90, 1)
        assert nothing["risk"] > 99
        assert (everything["groups"], everything["largest"]) == (1, 90)
        assert everything["IL"] == pytest.approx(100, abs=0.1)  # ages stay whole
    assert found.chosen["k"] == 2
    assert found.labels[1].tolist() == list(range(90))
    assert set(found.labels[90]) == {0}
    with refused(shoal.PlanError, "no-release-of-1", "k"):
        found.release(1)


def test_k_1_is_shown_and_never_written(people, tmp_path):
    found = shoal.sweep(people, k=[1, 3], method="tour", **OPTIONS)
    found.save(tmp_path / "masked-{k}.csv")
    assert names_in(tmp_path) == ["masked-3.csv", "masked-3.csv.manifest.json", "masked-3.csv.plan.toml"]
    with refused(shoal.PlanError, "no-release-of-1", "k"):
        shoal.sweep(people, k=1, method="tour", **OPTIONS).save(tmp_path / "masked-{k}.csv", overwrite=True)


@pytest.mark.parametrize(
    ("pattern", "code", "data"),
    [
        ("masked.csv", "output-without-placeholder", {"name": "{k}"}),
        ("masked-{k}.csv", "output-without-placeholder", {"name": "{method}"}),
        ("{method}-{k}-{seed}.csv", "unknown-placeholder", {"name": "{seed}"}),
        ("{method}-{k}-{}.csv", "unknown-placeholder", {"name": "{}"}),
        ("{method}-{k:03}.csv", "unknown-placeholder", {"name": "{k:03}"}),
        ("{method}-{k}-{.csv", "lone-brace", {}),
        ("{method}-{k}.doc", None, ".doc"),
        ("nowhere/{method}-{k}.csv", None, "nowhere"),
        (None, "no-output", {}),
    ],
)
def test_a_pattern_that_cannot_be_leaves_nothing(people, tmp_path, pattern, code, data):
    found = shoal.sweep(people, k=[3, 4], method=["tour", "mdav"], **OPTIONS)
    expected = refused(shoal.PlanError, code, "output", **data) if code else pytest.raises(shoal.ShoalError, match=data)
    with expected:
        found.save(None if pattern is None else tmp_path / pattern)
    assert names_in(tmp_path) == []


def test_all_names_are_looked_at_before_the_first_file_is_written(people, tmp_path):
    found = shoal.sweep(people, k=[3, 4, 5], method="tour", **OPTIONS)
    taken = tmp_path / "masked-5.csv.plan.toml"
    taken.write_text("mine")
    with refused(shoal.FileError, "file-exists", path=str(taken), more=0):
        found.save(tmp_path / "masked-{k}.csv")
    assert names_in(tmp_path) == [taken.name]
    found.save(tmp_path / "masked-{k}.csv", overwrite=True)
    assert len(names_in(tmp_path)) == 9
    assert taken.read_text() != "mine"


def test_what_stops_in_between_leaves_complete_files(people, tmp_path):
    found = shoal.sweep(people, k=[3, 4, 5], method="tour", **OPTIONS)

    def stop(step, done, total):
        if (step, done) == ("write", 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.save(tmp_path / "masked-{k}.csv", progress=stop)
    assert [each.path.name for each in found.saved] == ["masked-3.csv", "masked-4.csv"]
    assert len(names_in(tmp_path)) == 6
    for k in (3, 4):
        shoal.check(tmp_path / f"masked-{k}.csv", k=k, quasi=["age", "income"])


def test_a_k_that_strata_do_not_allow_is_refused_with_those_that_they_do(people):
    with refused(shoal.DataError, "smaller-k-possible", first=28, last=30) as error:
        shoal.sweep(people, k=range(28, 33), method="tour", quasi=["age", "income"], strata=["town"])
    assert error.value.code == "small-strata"


def test_the_best_method_of_each_k_is_known(people):
    found = shoal.sweep(people, k=[3, 9], method=["zscores", "tour"], **OPTIONS)
    assert {k: row["method"] for k, row in found.best.items()} == {3: "tour", 9: "tour"}
    assert found.to_dict()["best"] == {"3": "tour", "9": "tour"}
    assert found.release(3).plan.method == "tour"
    assert found.release(3, "zscores").plan.method == "zscores"
    assert found.notes == []
    with refused(shoal.PlanError, "not-compared", "method", value="pca", known=["zscores", "tour"]):
        found.release(3, "pca")
    with refused(shoal.PlanError, "not-compared", "k", value=4, known=[3, 9]):
        found.release(4)


def test_with_the_tour_alone_the_k_at_which_mdav_loses_less_are_named(people, reference):
    census = pa.table({f"x{j}": column for j, column in enumerate(reference("census").T)})
    [note] = shoal.sweep(census, k=[7, 10], method="tour").notes
    assert codes([note]) == ["mdav-loses-less"]
    [size] = note.data["sizes"]
    assert (size.data["k"], size.data["loss"]) == (10, pytest.approx(14.156, abs=1e-3))
    assert size.data["loss"] < size.data["tour"] < 15
    assert codes(shoal.sweep(people, k=[3], method="tour", **OPTIONS).notes) == ["mdav-loses-no-less"]


def test_a_warning_says_to_publish_one_file_only(people, tmp_path):
    found = shoal.sweep(people, k=[3, 4], method="mdav", **OPTIONS)
    found.save(tmp_path / "masked-{k}.csv")
    assert codes(found.notes) == ["publish-one-only"]
    assert found.notes[0].severity == "warning"


@pytest.mark.parametrize("engine", ["file", "spark"])
def test_an_engine_that_a_sweep_does_not_have_is_refused(people, tmp_path, engine):
    import pyarrow.csv

    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    with refused(shoal.PlanError, "not-in-a-sweep", "engine", value=engine, why=Message("works-in-memory")):
        shoal.sweep(tmp_path / "people.csv", k=[3], engine=engine, **OPTIONS)


def test_a_link_that_leads_nowhere_is_found_before_the_first_file_is_written(people, tmp_path):
    (tmp_path / "masked-4.csv.plan.toml").symlink_to(tmp_path / "nowhere")
    with refused(shoal.FileError, "file-exists", path=str(tmp_path / "masked-4.csv.plan.toml"), more=0):
        shoal.sweep(people, k=[3, 4], method="mdav", **OPTIONS).save(tmp_path / "masked-{k}.csv")
    assert not (tmp_path / "masked-3.csv").exists()


def test_a_tour_is_for_the_tour_alone(people):
    rows = shoal.sweep(people, k=[3], method=["tour", "mdav"], tour="savings", **OPTIONS).rows
    assert rows[0]["IL"] == pytest.approx(
        shoal.protect(people, k=3, method="tour", tour="savings", **OPTIONS).loss()["IL"]
    )
