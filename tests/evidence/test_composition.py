"""Several releases of the same data: what they reveal together, compared with the obvious way to count it."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import prints, refused

import shoal
from shoal import cli
from shoal.evidence.check import compared
from shoal.evidence.composition import Earlier, intersected
from shoal.messages import Message
from shoal.tables import open_table

OLD, NEW = [1, 1, 2, 2, 3, 3, 3, 3], [1, 1, 1, 1, 2, 2, 2, 2]


def naive(releases, k):
    """For everybody who is in some release, ask all others whether they look the same in every one.

    Parameters
    ----------
    releases
        Of each release, the published value of each person who is in it.
    """
    people = sorted({person for release in releases for person in release})
    alike = [sum(all(release.get(one) == release.get(two) for release in releases) for two in people) for one in people]
    return {
        "records": len(people),
        "smallest": min(alike),
        "below": sum(count < k for count in alike),
        "uniques": sum(count == 1 for count in alike),
        "groups": round(sum(1 / count for count in alike)),
    }


def table(release, order=None):
    persons = list(release) if order is None else order
    return pa.table({"person": persons, "x": pa.array([release[person] for person in persons], pa.int64())})


def against(new, earlier, k=2, key="person"):
    opened = [Earlier(f"earlier {j}", open_table(each)) for j, each in enumerate(earlier)]
    return intersected(open_table(new), [["x"]], k, opened, key)


values = st.integers(0, 3)
releases = st.lists(st.dictionaries(st.integers(0, 11), values, min_size=1), min_size=2, max_size=4)


@settings(max_examples=60, deadline=None)
@given(releases=releases, k=st.integers(2, 5), order=st.randoms(use_true_random=False))
def test_by_key_it_is_what_everybody_would_count(releases, k, order):
    tables = []
    for release in releases:
        persons = list(release)
        order.shuffle(persons)
        tables.append(table(release, persons))
    found = against(tables[0], tables[1:], k).found
    for one, figures in zip(releases[1:], found, strict=False):
        assert naive([releases[0], one], k).items() <= figures.items()
    assert naive(releases, k).items() <= found[-1].items()
    assert len(found) == len(releases) - 1 + (len(releases) > 2)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(1, 12), st.integers(2, 4))
def test_by_position_it_is_what_everybody_would_count(data, n, k):
    columns = [data.draw(st.lists(values, min_size=n, max_size=n)) for _ in range(2)]
    new, old = (pa.table({"x": column}) for column in columns)
    found = against(new, [old], k, key=None)
    expected = naive([dict(enumerate(column)) for column in columns], k)
    assert expected.items() <= found.found[0].items()
    assert bool(found.failures) == bool(expected["below"])


def test_two_releases_that_are_safe_alone_single_records_out_together():
    new, old = pa.table({"x": [1, 1, 2, 2]}), pa.table({"x": [1, 2, 1, 2]})
    shoal.check(new, 2)
    shoal.check(old, 2)
    of = {"releases": [Message("earlier-release", number=1)], "columns": ["x"], "counts": "record"}
    with refused(shoal.CheckFailed, "intersections-below-k", **of, k=2, below=4, smallest=1, alone=4) as caught:
        shoal.check(new, 2, against=old)
    assert len(caught.value.failures) == 1
    assert caught.value.found["against"][0]["uniques"] == 4


def test_the_same_release_twice_and_coarser_groups_reveal_nothing():
    new, old = pa.table({"x": NEW}), pa.table({"x": OLD})
    assert shoal.check(new, 4, against=new)["against"][0]["smallest"] == 4
    found = shoal.check(new, 2, against=old)["against"][0]
    assert (found["groups"], found["smallest"], found["below"]) == (3, 2, 0)


def test_who_joined_since_stands_alone():
    old = dict.fromkeys(range(4), 1)
    with refused(shoal.CheckFailed, "intersections-below-k", alone=1):
        shoal.check(table({**old, 4: 1}), 2, ["x"], against=table(old), key="person")


def test_several_earlier_releases_reveal_more_than_each():
    new = pa.table({"x": [1] * 8})
    halves = [pa.table({"x": column}) for column in ([1, 1, 1, 1, 2, 2, 2, 2], [1, 1, 2, 2, 1, 1, 2, 2])]
    for half in halves:
        shoal.check(new, 4, against=half)
    with pytest.raises(shoal.CheckFailed) as caught:
        shoal.check(new, 4, against=halves)
    assert [each["below"] for each in caught.value.found["against"]] == [0, 0, 8]
    assert len(caught.value.failures) == 1


def test_an_attribute_that_was_published_as_it_is_counts_in_the_earlier_release():
    new = pa.table({"x": NEW, "y": [5] * 8})
    old = pa.table({"x": NEW, "y": range(8)})
    with refused(shoal.CheckFailed, "intersections-below-k", alone=8):
        shoal.check(new, 4, ["x", "y"], against=old)
    assert shoal.check(new, 4, ["x"], against=old)["differing"] == ["y"]


def test_what_cannot_be_paired_is_refused_with_the_way_out():
    new, old = pa.table({"x": NEW}), pa.table({"x": OLD[:-1]})
    masked, first = Message("the-masked-table"), Message("earlier-release", number=1)
    of = {"table": masked, "records": 8, "other": first, "others": 7}
    with refused(shoal.DataError, "numbers-of-records-differ", **of):
        shoal.check(new, 2, against=old)
    with refused(shoal.DataError, "key-not-unique", column="x", table=masked):
        shoal.check(new, 2, against=old, key="x")
    with refused(shoal.PlanError, "unknown-column", "key", column="who", table="the masked table"):
        shoal.check(new, 2, against=old, key="who")
    with refused(shoal.DataError, "not-an-earlier-release", columns=["x"], table=first):
        shoal.check(new, 2, against=pa.table({"z": NEW}))


@pytest.mark.parametrize(
    ("options", "code", "field", "data"),
    [
        ({"key": "x"}, "does-not-apply-without", "key", {"option": "--against"}),
        ({"against": []}, "names-none", "against", {"what": "earlier release"}),
        ({"original": pa.table({"x": OLD})}, "does-not-apply-without", "original", {"option": "--edits"}),
        ({"levels": {"x": [1, 2]}}, "does-not-apply-without", "levels", {"option": "--edits"}),
        ({"levels": {"y": [1, 2]}, "edits": ["x > 0"]}, "levels-unused", "levels", {"column": "y"}),
        ({"manifest": "masked.json"}, "in-manifest", "k", {}),
        ({"manifest": "masked.json"}, "manifest-needs-file", "manifest", {}),
    ],
)
def test_requests_that_contradict_themselves_are_refused(options, code, field, data):
    with refused(shoal.PlanError, code, field, **data):
        shoal.check(pa.table({"x": NEW}), 2, **options)


def test_quasi_identifiers_and_blocks_come_from_the_manifest(tmp_path):
    rng = np.random.default_rng(0)
    data = pa.table({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    for name, options in {"old": {"quasi": ["x", "y"]}, "new": {"blocks": [["x"], ["y"]]}}.items():
        shoal.protect(data, k=3, **options).save(tmp_path / f"{name}.csv")
    manifest = tmp_path / "new.csv.manifest.json"
    with pytest.raises(shoal.CheckFailed) as caught:
        shoal.check(tmp_path / "new.csv", manifest=manifest, against=tmp_path / "old.csv")
    assert [each["attributes"] for each in caught.value.found["against"]] == [["x"], ["y"]]
    shoal.check(tmp_path / "new.csv", manifest=manifest, against=tmp_path / "new.csv")


def test_what_a_release_cannot_be_compared_by_is_refused():
    data = pa.table({"x": NEW, "who": [*range(4)] * 2})
    release = shoal.protect(data, k=2, quasi=["x"], unit="who")
    with refused(shoal.PlanError, "needs-units", "against", manifest=False):
        compared(release, data)
    on_spark = SimpleNamespace(plan=release.plan, published=SimpleNamespace(engine="spark"))
    with refused(shoal.PlanError, "no-order-on-spark", "against"):
        compared(on_spark, data)


def test_a_manifest_without_k_has_nothing_to_compare(tmp_path):
    data = pa.table({"x": np.arange(40.0), "y": np.arange(40.0) ** 2})
    shoal.protect(data, k=8, quasi=["x", "y"], method="mic1d").save(tmp_path / "masked.csv")
    with refused(shoal.PlanError, "needs-a-k", "against"):
        shoal.check(
            tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json", against=tmp_path / "masked.csv"
        )


def test_the_command_warns_with_counts_and_no_values(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    secret = [70001, 70001, 80002, 80002]
    pa.csv.write_csv(pa.table({"x": secret}), "new.csv")
    pa.csv.write_csv(pa.table({"x": [secret[0], secret[2]] * 2}), "old.csv")

    def run(*more):
        monkeypatch.setattr(sys, "argv", ["shoal", "check", "new.csv", "-k", "2", *more])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return (caught.value.code, *capsys.readouterr())

    code, out, err = run("--against", "new.csv", "--against", "old.csv", "--json")
    assert code == 1
    assert [each["below"] for each in json.loads(out)["against"]] == [0, 4, 4]
    assert prints(err, "intersections-below-k", releases=["'old.csv'"], columns=["x"], below=4, k=2, counts="record")
    assert "70001" not in out + err
    code, out, _ = run("--against", "new.csv")
    assert not code
    assert "'new.csv': 2 intersections" in " ".join(out.split())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(values, values, st.integers(0, 4)), min_size=1, max_size=20), st.integers(2, 4))
def test_with_a_unit_intersections_are_counted_in_units(rows, k):
    old, new, who = (list(each) for each in zip(*rows, strict=True))
    earlier = [Earlier("earlier", open_table(pa.table({"x": old})))]
    [found] = intersected(open_table(pa.table({"x": new, "who": who})), [["x"]], k, earlier, None, "who").found
    units = [len({w for o, n, w in rows if (o, n) == (one, two)}) for one, two, _ in rows]
    assert found["counts"] == "units"
    assert (found["records"], found["smallest"]) == (len(rows), min(units))
    assert (found["below"], found["uniques"]) == (sum(n < k for n in units), sum(n == 1 for n in units))


def test_check_with_a_unit_fails_where_an_intersection_is_one_unit():
    who = [1, 1, 2, 2, 1, 2, 3, 4]
    new, old = pa.table({"x": NEW, "who": who}), pa.table({"x": OLD, "who": [9 - each for each in who]})
    assert shoal.check(new, k=2, quasi=["x"], against=old)["against"][0]["smallest"] == 2
    of = {"k": 2, "counts": "unit", "below": 4, "smallest": 1, "alone": 4}
    with refused(shoal.CheckFailed, "intersections-below-k", **of) as failed:
        shoal.check(new, k=2, quasi=["x"], unit="who", against=old)
    assert failed.value.found["differing"] == []


def test_units_that_are_not_known_are_refused(tmp_path):
    new = pa.table({"x": [1, 1], "who": [1, 2], "person": [1, 2]})
    old = pa.table({"x": [1, 1, 1], "person": [1, 2, 3]})
    with refused(shoal.DataError, "units-not-known", records=1):
        shoal.check(new, k=2, quasi=["x"], unit="who", against=old, key="person")
    release = shoal.protect(pa.table({"x": NEW, "who": [*range(4)] * 2}), k=2, quasi=["x"], unit="who")
    release.save(tmp_path / "masked.csv")
    manifest = tmp_path / "masked.csv.manifest.json"
    with refused(shoal.PlanError, "needs-units", "against", manifest=True):
        shoal.check(tmp_path / "masked.csv", manifest=manifest, against=pa.table({"x": OLD}))
