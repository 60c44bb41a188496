"""The manifest of a release: what it says, that it gives nothing away, and that it finds every change."""

import csv
import hashlib
import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.expect import codes, prints, refused, reports

import naive
import shoal
from shoal import cli
from shoal.kernels.l_diversity import C
from shoal.messages import Message
from shoal.pipeline.manifest import PUBLIC, Manifest, Verified, load_manifest, manifest_beside
from shoal.plan import Csv, Scale
from shoal.plan.options import public_fields
from shoal.release import protect_file
from shoal.tables import Table, write_table

# Nobody should find any of these in a manifest: values of identifiers, of what is masked and of what is confidential.
PLANTED = ["Xanthippe", "7654321", "Kryptonosis", "Zzyzx", "level-of-one", "4711"]
OPTIONS = {
    "k": 4,
    "quasi": ["age", "town", "size"],
    "confidential": ["sick"],
    "identifiers": ["name"],
    "levels": {"size": ["small", "large", "level-of-one"]},
    "edits": ["age >= 0", "if wages > 4711 then age > 1"],
    "seed": 4711,
}


def people(n=48):
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, n)
    age[3] = 7654321
    town, size = rng.choice(["Ayr", "Rye"], n).tolist(), rng.choice(["small", "large"], n).tolist()
    town[4], size[5] = "Zzyzx", "level-of-one"
    return pa.table(
        {
            "name": [f"Xanthippe {i}" for i in range(n)],
            "age": age,
            "town": town,
            "size": size,
            "wages": rng.integers(1, 900, n),
            "sick": rng.choice(["Kryptonosis A", "Kryptonosis B", "none"], n),
        }
    )


def numbers(n=60, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table({"id": np.arange(n), "x": rng.normal(size=n), "y": rng.normal(size=n), "z": rng.integers(0, 5, n)})


@pytest.fixture
def published(tmp_path):
    """A release of numbers as a CSV file, with its manifest."""
    path = tmp_path / "masked.csv"
    shoal.protect(numbers(), k=4, quasi=["x", "y"], method="mdav", publish=["id", "z"]).save(path)
    return path, tmp_path / "masked.csv.manifest.json"


def failures(*arguments, **options):
    with pytest.raises(shoal.CheckFailed) as caught:
        shoal.check(*arguments, **options)
    return caught.value.failures


def edited(path, *steps, to):
    """Change one entry of a manifest."""
    manifest = json.loads(path.read_text())
    part = manifest
    for step in steps[:-1]:
        part = part[step]
    part[steps[-1]] = to
    path.write_text(json.dumps(manifest))


KINDS = {
    "csv": "csv",
    "tsv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "sav": "sav",
    "xlsx": "excel",
    "xml": "xml",
}


@pytest.mark.parametrize("ending", KINDS)
def test_a_release_in_every_kind_of_file_is_verified_by_its_manifest(tmp_path, ending):
    write_table(Table(people()), tmp_path / f"in.{ending}", KINDS[ending])
    release = shoal.protect(tmp_path / f"in.{ending}", publish=["wages"], **OPTIONS)
    path = tmp_path / f"out.{ending}"
    release.save(path)
    manifest = load_manifest(manifest_beside(path))
    assert manifest.published.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert manifest.published.bytes == path.stat().st_size
    found = shoal.check(path, manifest=manifest_beside(path), edits=OPTIONS["edits"])
    assert (found["records"], found["k"], found["quasi"], found["edits"]) == (48, 4, ["age", "town", "size"], 2)
    assert len(set(release.groups.tolist())) >= found["blocks"][0]["groups"]
    text = (manifest_beside(path)).read_text().replace(manifest.published.sha256, "")
    assert [value for value in PLANTED if value in text] == []
    assert str(tmp_path) not in text
    assert "in." + ending not in text


def test_the_same_plan_gives_the_same_manifest(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shoal.protect(people(), publish=["wages"], **OPTIONS).save(tmp_path / name / "masked.csv")
    first, second = ((tmp_path / name / "masked.csv.manifest.json").read_bytes() for name in ("one", "two"))
    assert first == second


def stays(n=120):
    """Stays of patients and their relatives, with an amount that follows from two others."""
    rng = np.random.default_rng(3)
    who, wages, other = np.arange(n) // 3, rng.integers(1, 900, n), rng.integers(1, 500, n)
    names = {"patient": 500 + who, "region": np.array(["north", "south"])[who % 2], "rent": 50.0 * (who // 4)}
    sums = {"age": rng.integers(0, 90, n), "costs": wages + other, "wages": wages, "other": other}
    return pa.table({**names, **sums, "ill": rng.choice(["a", "b", "c"], n)}).take(rng.permutation(n))


NAMES = {"rent": [0.0, *(50.0 * each for each in range(9, 0, -1))]}
RELEASES = {
    "originals that follow": {"quasi": ["age", "costs"], "identifiers": ["patient"]},
    "strata": {"quasi": ["age", "costs"], "strata": ["region"], "identifiers": ["patient"]},
    "blocks": {"blocks": [["age"], ["costs"]], "identifiers": ["patient"]},
    "l and t": {"quasi": ["age"], "confidential": ["ill", "wages"], "identifiers": ["patient"], "l": 2, "t": 0.6},
    "t in levels": {"quasi": ["age"], "confidential": ["rent"], "levels": NAMES, "t": 0.9},
    "units": {"quasi": ["age"], "unit": "patient", "confidential": ["ill"], "l": 2},
    "pseudonyms": {"quasi": ["age"], "unit": "patient", "unit_as": "pseudonym", "confidential": ["ill"], "l": 2},
    "households": {"quasi": ["rent", "age"], "household": "patient"},
    "pseudonyms of households": {"quasi": ["rent", "age"], "household": "patient", "household_as": "pseudonym"},
    "rules": {"quasi": ["age"], "identifiers": ["patient"], "edits": ["age >= 0"]},
}


def figures(entry, path=()):
    """Return all numbers of a document by their places."""
    pairs = entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else []
    found = {place: number for name, each in pairs for place, number in figures(each, (*path, name)).items()}
    is_number = isinstance(entry, int | float) and not isinstance(entry, bool)
    return {path: entry} if is_number else found


def shown(path, verified, options):
    """Count what a manifest says in the published file alone, by its plan."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    found = {("k",): options["k"]} if verified["blocks"] else {}
    for place, block in enumerate(verified["blocks"]):
        alike = [tuple(row[name] for name in block["attributes"]) for row in rows]
        sizes, groups = Counter(alike), sorted({*alike})
        figures = {"groups": len(sizes), "smallest": min(sizes.values()), "largest": max(sizes.values())}
        found |= {("blocks", place, name): number for name, number in figures.items()}
        for at, each in enumerate(block.get("diversity", [])):
            texts = [row[each["attribute"]] for row in rows]
            values = [float(text) if each["order"] == "numbers" else text for text in texts]
            codes, labels = [sorted({*values}).index(value) for value in values], [groups.index(one) for one in alike]
            within = ("blocks", place, "diversity", at)
            found |= {(*within, name): options[name] for name in ("l", "t") if name in options}
            if options.get("unit") is not None and "patient" not in rows[0]:
                continue
            whole = codes
            if options.get("unit") is not None:  # which counts once for a value in a group, and in the file
                patients = [row["patient"] for row in rows]
                whole = [code for code, _ in {*zip(codes, patients, strict=True)}]
                once = {*zip(labels, codes, patients, strict=True)}
                labels, codes = ([triple[i] for triple in once] for i in (0, 1))
            forms = naive.diversity(labels, codes, C)
            found |= {(*within, form): forms[form] for form in ("distinct", "entropy", "recursive")}
            if each["order"] != "levels":
                found[(*within, "closeness")] = naive.closeness(labels, codes, each["order"] == "numbers", whole)
    return found | ({("rules", "number"): len(options["edits"])} if "edits" in options else {})


@pytest.mark.parametrize("options", RELEASES.values(), ids=RELEASES)
def test_every_number_in_it_can_be_computed_from_the_published_file(tmp_path, options):
    options = {"k": 4, "method": "mdav", "publish": "rest", **options}
    path = tmp_path / "masked.csv"
    release = shoal.protect(stays(), **options)
    release.save(path)
    said = json.loads(manifest_beside(path).read_text())
    assert {*said["verified"]} <= {*Verified.model_fields}
    assert figures(said["verified"]) == pytest.approx(shown(path, said["verified"], options))
    text = path.read_text().splitlines()
    assert (said["published"]["records"], said["published"]["columns"]) == (len(text) - 1, text[0].split(","))
    assert "costs = " not in json.dumps(said)
    checked = shoal.check(path, manifest=manifest_beside(path), edits=options.get("edits"))
    hidden = {
        "again-dropped": "identifiers" in options,
        "again-units": options.get("unit_as", "unit") == "unit" and "unit" in options,
        "again-households": options.get("household_as", "household") == "household" and "household" in options,
    }
    assert "again-determined" in codes(checked["unverified"])
    assert {code: code in codes(checked["unverified"]) for code in hidden} == hidden
    release.risk()  # the keeper's record has what the manifest has not
    assert ("wages + other" in str(release.risk())) == ("costs" in str(options.get("quasi", options.get("blocks"))))


OLD = {
    "units": [{"column": "patient", "units": 40, "attributes": ["x"], "groups": 9, "least": 2}],
    "determined": [{"column": "x", "by": ["z"], "how": "sum", "formula": "z", "exact": 60, "records": 60}],
    "households": {"column": "home", "attributes": ["x"], "households": 40, "groups": 9, "smallest": 4},
}


@pytest.mark.parametrize("section", OLD)
def test_private_sections_of_a_first_manifest_are_passed_over_and_of_a_second_refused(published, section):
    path, manifest = published
    edited(manifest, "verified", section, to=OLD[section])
    with refused(shoal.FileError, "not-a-manifest", entry=f"verified.{section}"):
        shoal.check(path, manifest=manifest)
    edited(manifest, "version", to=1)
    assert shoal.check(path, manifest=manifest)["records"] == 60
    assert section not in load_manifest(manifest).to_json()


def test_no_hash_of_the_original_is_in_it(tmp_path):
    pa.csv.write_csv(numbers(), tmp_path / "in.csv")
    shoal.protect(tmp_path / "in.csv", k=4, quasi=["x", "y"], publish=["id", "z"]).save(tmp_path / "masked.csv")
    text = (tmp_path / "masked.csv.manifest.json").read_text()
    content = (tmp_path / "in.csv").read_bytes()
    assert not any(hashlib.new(name, content).hexdigest() in text for name in ("md5", "sha1", "sha256", "sha512"))
    assert text.count("sha256") == 1


def test_every_field_of_a_plan_is_public_or_private_on_purpose():
    # of recoding, cut points are told, and old levels are not: see `shoal.pipeline.manifest.public_plan`
    private = {"levels", "recode", "missing_codes", "edits", "seed", "input", "output", "csv", "sheet", "scale"}
    assert {*PUBLIC} | private == {*shoal.Plan.model_fields}
    assert not {*PUBLIC} & private
    assert {*Scale.model_fields} - {*public_fields(Scale)} == {"memory", "master"}
    assert public_fields(Csv) == ()


def test_of_the_scale_neither_the_cluster_nor_the_memory_is_told(tmp_path):
    scale = {"block_size": 20, "memory": "777MB"}
    shoal.protect(numbers(), k=4, quasi=["x", "y"], scale=scale, publish=["id", "z"]).save(tmp_path / "masked.csv")
    told = json.loads((tmp_path / "masked.csv.manifest.json").read_text())["plan"]["scale"]
    assert told["block_size"] == 20
    assert not {"memory", "master"} & {*told}


def test_how_many_records_were_left_out_is_not_told(tmp_path):
    table = people().append_column("gaps", pa.array([None, 1.0] * 24))
    shoal.protect(table, k=4, quasi=["gaps"], missing="suppress", publish="rest").save(tmp_path / "masked.csv")
    manifest = load_manifest(tmp_path / "masked.csv.manifest.json")
    assert manifest.published.records == 24
    told = manifest.model_dump(exclude={"versions": True, "published": {"bytes", "sha256"}})
    assert "48" not in str(told)
    assert "suppressed" not in str(told)


OTHER = {"number-of-bytes-differs": {}, "hash-differs": {}}  # of a file with other bytes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace(",3\n", ",4\n", 1), {"hash-differs": {}}),
        (
            lambda text: "\n".join(text.split("\n")[:-2]) + "\n",
            {**OTHER, "number-of-records-differs": {"records": 59}, "group-size-differs": {}},
        ),
        (
            lambda text: text.replace("id,x", "id,w", 1),
            {
                "hash-differs": {},
                "columns-missing": {"columns": ["x"]},
                "columns-not-in-manifest": {"columns": ["w"]},
                "block-not-countable": {"columns": ["x"]},
            },
        ),
        (
            lambda text: text.replace("id,x,y,z", "x,id,y,z", 1),
            {"hash-differs": {}, "column-order-differs": {}, "group-below-k": {"k": 4}},
        ),
        (
            lambda text: text + "61,1.5,2.5,0\n",
            {
                **OTHER,
                "number-of-records-differs": {"records": 61},
                "group-below-k": {"below": 1},
                "number-of-groups-differs": {},
            },
        ),
        (lambda text: text.replace("\n", "\r\n"), OTHER),
        (lambda text: "", OTHER),
    ],
)
def test_every_change_of_the_file_is_found(published, change, said):
    path, manifest = published
    path.write_bytes(change(path.read_text()).encode())
    found = failures(path, manifest=manifest)
    for code, data in said.items():
        assert reports(found, code, **data), (code, found)
    assert path.stat().st_size or len(found) > len(said)  # an empty file is a failure of its own


@pytest.mark.parametrize(
    ("steps", "to", "code", "data"),
    [
        (("published", "sha256"), "0" * 64, "hash-differs", {"part": None}),
        (("published", "bytes"), 7, "number-of-bytes-differs", {"manifest": 7}),
        (("published", "records"), 61, "number-of-records-differs", {"records": 60, "expected": 61, "manifest": True}),
        (("published", "columns"), ["id", "x", "y"], "columns-not-in-manifest", {"columns": ["z"]}),
        (("verified", "blocks", 0, "groups"), 2, "number-of-groups-differs", {"manifest": 2}),
        (("verified", "blocks", 0, "smallest"), 5, "group-size-differs", {"which": "smallest", "manifest": 5}),
        (("verified", "blocks", 0, "attributes"), ["x", "y", "z"], "group-below-k", {"k": 4}),
    ],
)
def test_every_change_of_the_manifest_is_found(published, steps, to, code, data):
    path, manifest = published
    edited(manifest, *steps, to=to)
    assert reports(failures(path, manifest=manifest), code, **data)


@pytest.mark.parametrize(
    ("steps", "to", "code"),
    [
        (("verified", "k"), 3, "contradicts-plan"),
        (("plan", "k"), 3, "contradicts-plan"),
        (("plan", "identifiers"), ["z"], "identifier-published"),
        (("plan", "quasi"), ["x", "y", "z"], "block-not-verified"),
    ],
)
def test_every_contradiction_in_the_manifest_is_found(published, steps, to, code):
    path, manifest = published
    edited(manifest, *steps, to=to)
    assert reports(failures(path, manifest=manifest), code)


def test_another_file_is_not_the_one_and_a_renamed_one_is(published):
    path, manifest = published
    shoal.protect(numbers(seed=2), k=4, quasi=["x", "y"], publish=["id", "z"]).save(path.with_name("other.csv"))
    assert reports(failures(path.with_name("other.csv"), manifest=manifest), "hash-differs")
    path.rename(path.with_name("found later.csv"))
    assert shoal.check(path.with_name("found later.csv"), manifest=manifest)["records"] == 60


BROKEN = {
    "nothing": b"",
    "not JSON": b"hello",
    "a list": b"[1, 2]",
    "deep": b"[" * 100_000,
    "no text": b"\xff\xfe\x00",
    "another document": b'{"name": "web app", "version": 3}',
    "large": b" " * 20_000_001,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_is_no_manifest_is_refused_in_one_sentence(published, content):
    path, manifest = published
    manifest.write_bytes(content)
    with pytest.raises(shoal.FileError) as caught:
        shoal.check(path, manifest=manifest)
    if len(content) < 20_000_000:  # else it is not read
        assert caught.value.codes == ["not-a-manifest"]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "to"),
    [
        (("published", "records"), "60"),
        (("published", "records"), -1),
        (("published", "sha256"), "secret value"),
        (("published", "sha256"), None),
        (("verified", "k"), None),
        (("verified", "blocks", 0, "attributes"), []),
        (("verified", "surprise"), "secret value"),
        (("published", "csv", "delimiter"), ["secret value"]),
    ],
)
def test_a_wrong_entry_is_named_and_not_shown(published, steps, to):
    path, manifest = published
    edited(manifest, *steps, to=to)
    with refused(shoal.FileError, "not-a-manifest") as caught:
        shoal.check(path, manifest=manifest)
    assert caught.value.messages[0].data["entry"].startswith(steps[0])
    assert "secret" not in str(caught.value)


def test_a_manifest_of_another_version_or_none_is_said_to_be(published):
    path, manifest = published
    edited(manifest, "version", to=3)
    with refused(shoal.FileError, "manifest-of-other-version", path=str(manifest)):
        shoal.check(path, manifest=manifest)
    with refused(shoal.FileError, "no-file", path=str(path.with_name("nowhere.json")), what="manifest of a release"):
        shoal.check(path, manifest=path.with_name("nowhere.json"))
    edited(manifest, "version", to=1)
    with refused(shoal.FileError, "no-file", path=str(path.with_name("nowhere.csv")), what=None):
        shoal.check(path.with_name("nowhere.csv"), manifest=manifest)


def test_what_does_not_go_with_a_manifest_is_refused(published):
    path, manifest = published
    with pytest.raises(shoal.PlanError) as caught:
        shoal.check(pa.csv.read_csv(path), 4, ["x"], manifest=manifest)
    assert codes(caught.value.messages) == ["in-manifest", "in-manifest", "manifest-needs-file"]
    assert [each.field for each in caught.value.messages] == ["k", "quasi", "manifest"]
    with refused(shoal.PlanError, "not-set", "k", name="k"):
        shoal.check(path)


def test_promises_on_confidential_attributes_are_measured_again(tmp_path):
    table = people(96)
    options = {"k": 4, "quasi": ["age"], "confidential": ["sick", "wages"], "identifiers": ["name"], "l": 2, "t": 0.6}
    shoal.protect(table, publish=["town", "size"], **options).save(tmp_path / "masked.csv")
    path, manifest = tmp_path / "masked.csv", tmp_path / "masked.csv.manifest.json"
    block = load_manifest(manifest).verified.blocks[0]
    assert [(each.attribute, each.order, each.l, each.t) for each in block.diversity] == [
        ("sick", "none", 2, 0.6),
        ("wages", "numbers", 2, 0.6),
    ]
    shoal.check(path, manifest=manifest)
    edited(manifest, "verified", "blocks", 0, "diversity", 0, "closeness", to=0.01)
    assert reports(failures(path, manifest=manifest), "t-differs", column="sick", manifest=0.01)
    sick = pa.array(["none"] * 96)
    pa.csv.write_csv(pa.csv.read_csv(path).set_column(4, "sick", sick), path)
    assert reports(failures(path, manifest=manifest), "l-not-kept", column="sick", least=1, l=2)


def test_of_levels_it_is_said_that_their_order_is_not_known(tmp_path):
    levels = {"size": ["small", "large", "level-of-one"]}
    options = {"k": 4, "quasi": ["age"], "confidential": ["size"], "levels": levels, "t": 0.9}
    shoal.protect(people(), publish="rest", **options).save(tmp_path / "masked.csv")
    found = shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")
    assert reports(found["unverified"], "again-distances", column="size")


def test_what_only_the_original_could_tell_is_named(tmp_path):
    table = numbers().append_column("w", pa.array(np.linspace(1, 2, 60)))
    options = {"weights": "w", "preserve": "weighted_mean", "edits": ["z >= 0"]}
    shoal.protect(table, k=4, quasi=["x", "y"], publish=["id", "z"], **options).save(tmp_path / "masked.csv")
    path, manifest = tmp_path / "masked.csv", tmp_path / "masked.csv.manifest.json"
    said = shoal.check(path, manifest=manifest)["unverified"]
    assert "again-totals" in codes(said)
    assert reports(said, "again-rules", rules=1)
    assert "again-rules" not in codes(shoal.check(path, manifest=manifest, edits=["z >= 0"])["unverified"])
    assert failures(path, manifest=manifest, edits=["z >= 0", "z < 9"]) == [
        Message("number-of-rules-differs", rules=2, manifest=1)
    ]
    broken = {"rule": "rule 1", "records": sum(each <= 2 for each in table["z"].to_pylist())}
    assert reports(failures(path, manifest=manifest, edits=["z > 2"]), "release-breaks-rule", **broken)


def test_differential_privacy_is_not_verified_by_looking_at_a_file(published):
    path, manifest = published
    edited(manifest, "plan", "epsilon", to=1.0)
    assert "again-epsilon" in codes(shoal.check(path, manifest=manifest)["unverified"])


def test_rules_that_the_original_broke_are_no_failure(tmp_path):
    options = {"edits": ["z < 4"], "edits_original": "keep"}
    shoal.protect(numbers(), k=4, quasi=["x", "y"], publish=["id", "z"], **options).save(tmp_path / "masked.csv")
    path, manifest = tmp_path / "masked.csv", tmp_path / "masked.csv.manifest.json"
    found = shoal.check(path, manifest=manifest, edits=["z < 4"])
    assert reports(found["unverified"], "again-excused", rule="rule 1")


@pytest.mark.parametrize(
    "options", [{"method": "mic1d", "k": 12}, {"method": "hybrid", "k": 20, "confidential": ["y"]}]
)
def test_a_method_whose_groups_the_file_does_not_show_promises_no_k(tmp_path, options):
    quasi = ["x"] if "confidential" in options else ["x", "y"]
    shoal.protect(numbers(), quasi=quasi, publish=["id", "z"], **options).save(tmp_path / "masked.csv")
    found = shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")
    assert found["k"] is None
    assert "again-no-groups" in codes(found["unverified"])


def test_blocks_and_strata_are_counted_as_promised(tmp_path):
    options = {"blocks": [["x"], ["y"]], "strata": ["z"]}
    shoal.protect(numbers(), k=3, publish=["id"], **options).save(tmp_path / "masked.csv")
    found = shoal.check(tmp_path / "masked.csv", manifest=tmp_path / "masked.csv.manifest.json")
    assert [block["attributes"] for block in found["blocks"]] == [["x", "z"], ["y", "z"]]
    assert all(block["smallest"] >= 3 for block in found["blocks"])


def test_outputs_that_differ_in_their_ending_lie_in_one_folder(published):
    path, manifest = published
    before = manifest.read_bytes()
    shoal.protect(numbers(), k=4, quasi=["x", "y"], publish=["id", "z"]).save(path.with_suffix(".parquet"))
    assert manifest.read_bytes() == before
    for each in (path, path.with_suffix(".parquet")):
        assert shoal.check(each, manifest=manifest_beside(each))["records"] == 60


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_engine_for_large_files_writes_the_same_claims(tmp_path, ending):
    pq.write_table(numbers(), tmp_path / "in.parquet")
    roles = {"quasi": ["x", "y"], "identifiers": ["id"], "publish": ["z"]}
    plan = shoal.Plan(k=4, **roles, input=tmp_path / "in.parquet", edits=["z >= 0"])
    large = tmp_path / f"large.{ending}"
    protect_file(plan.updated(output=large, scale={"block_size": 60}))
    found = shoal.check(large, manifest=manifest_beside(large), edits=["z >= 0"])
    assert (found["records"], found["k"], found["edits"]) == (60, 4, 1)
    said = load_manifest(manifest_beside(large))
    assert said.published.columns == ["x", "y", "z"]
    assert said.verified.rules.number == 1
    assert "memory" not in said.plan["scale"]


def test_a_folder_of_files_is_verified_part_by_part(tmp_path):
    """As Spark writes it: see the tests of that engine for a manifest of its own."""
    folder = tmp_path / "masked.csv"
    folder.mkdir()
    rows = ['1.0,"a ""b"",\nc"', "1.0,", '1.0,""', "1.0,d"]
    for part in range(2):
        (folder / f"part-{part}.csv").write_text("\n".join(["x,t", *rows[2 * part : 2 * part + 2]]) + "\n")
    (folder / "_SUCCESS").write_text("")
    parts = [
        {"name": file.name, "bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for file in sorted(folder.glob("part*"))
    ]
    size = sum(part["bytes"] for part in parts)
    published = {"name": "masked.csv", "bytes": size, "parts": parts, "records": 4, "columns": ["x", "t"]}
    block = {"attributes": ["x"], "groups": 1, "smallest": 4, "largest": 4}
    claim = {"published": published, "plan": {"k": 4, "quasi": ["x"]}, "versions": {}}
    claim |= {"verified": {"k": 4, "blocks": [block]}}
    manifest = tmp_path / "masked.csv.manifest.json"
    manifest.write_text(Manifest.model_validate_json(json.dumps(claim)).to_json())
    assert shoal.check(folder, manifest=manifest)["records"] == 4
    (folder / "part-2.csv").write_text("x,t\n2.0,e\n")
    assert reports(failures(folder, manifest=manifest), "part-not-in-manifest", part="part-2.csv")
    (folder / "part-2.csv").rename(folder / "part-1.csv")
    assert reports(failures(folder, manifest=manifest), "hash-differs", part="part-1.csv")
    (folder / "part-1.csv").unlink()
    assert reports(failures(folder, manifest=manifest), "part-missing", part="part-1.csv")
    (tmp_path / "one.csv").write_text("x,t\n1.0,a\n")
    found = failures(tmp_path / "one.csv", manifest=manifest)
    assert reports(found, "kind-of-file-differs", file=str(tmp_path / "one.csv"), files=2)
    (folder / "part-1.csv").write_text("x,t\n")
    (folder / "part-0.csv").write_text('"x')
    with refused(shoal.CheckFailed, "parts-not-readable", file=str(folder)):
        shoal.check(folder, manifest=manifest)


def test_a_folder_is_not_the_one_file_that_was_published(published, tmp_path):
    path, manifest = published
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    path.rename(folder / "part.csv")
    assert reports(failures(folder, manifest=manifest), "kind-of-file-differs", file=str(folder), files=None)


def test_what_of_diversity_the_manifest_says_is_compared(tmp_path):
    options = {"quasi": ["age"], "confidential": ["sick"], "identifiers": ["name"], "l": 2}
    shoal.protect(people(), k=4, publish="rest", **options).save(tmp_path / "masked.csv")
    path, manifest = tmp_path / "masked.csv", tmp_path / "masked.csv.manifest.json"
    edited(manifest, "verified", "blocks", 0, "diversity", 0, "distinct", to=3)
    assert reports(failures(path, manifest=manifest), "l-differs", column="sick", form="distinct", manifest=3)
    pa.csv.write_csv(pa.csv.read_csv(path).drop_columns("sick"), path)
    assert reports(failures(path, manifest=manifest), "diversity-not-measurable", column="sick")


def test_the_command_verifies_and_says_what_it_cannot(published, capsys, monkeypatch):
    path, manifest = published
    arguments = ["shoal", "check", str(path), "--manifest", str(manifest)]

    def run(*more):
        monkeypatch.setattr(sys, "argv", [*arguments, *more])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return (caught.value.code, *capsys.readouterr())

    code, out, err = run()
    assert not code
    assert "60 records" in " ".join(out.split())
    assert prints(err, "again-original")
    code, out, _ = run("-k", "4")
    assert code == 2
    path.write_text(path.read_text().replace("id", "ID", 1))
    code, out, err = run("--json")
    assert code == 1
    assert json.loads(out)["passed"] is False
    assert len([line for line in err.splitlines() if line.startswith("Failed:")]) == len(json.loads(out)["errors"])


DOCS = Path(__file__).parents[2] / "docs" / "manifest.md"


def test_the_examples_of_the_documentation_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = [f"person {i},{20 + i % 50},{rng.integers(1000, 9000)},{i % 3}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["name,age,income,ill", *rows]) + "\n")
    codes = []
    for kind, block in re.findall(r"```(console|python)\n(.*?)```", DOCS.read_text(), re.DOTALL):
        if kind == "python":
            exec(block, {"shoal": shoal})
            continue
        for line in block.splitlines():
            monkeypatch.setattr(sys, "argv", shlex.split(line.removeprefix("$ ")))
            with pytest.raises(SystemExit) as caught:
                cli.main()
            codes.append(caught.value.code or 0)
    assert codes == [0, 0, 1, 0, 1]
    printed = capsys.readouterr().out
    assert "'uniques':" in printed
