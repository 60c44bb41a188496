"""Releases are counted, and a case that finds something is kept so that it can be run again."""

from fuzz.cases import from_json
from fuzz.counting import Count, fields_in, some_inputs
from fuzz.deep import input_of
from fuzz.draws import Draws
from fuzz.valid import case_of


def test_inputs_are_counted_with_the_fields_of_their_plans(tmp_path):
    count = some_inputs(1, 0, 3, tmp_path)
    assert (count.inputs, count.findings, [*tmp_path.iterdir()]) == (3, 0, [])
    assert count.releases == count.fields["method"] >= 1


def test_a_case_that_fails_is_kept(tmp_path, capsys):
    case = case_of(Draws(input_of(1, 0)))
    count = Count()
    count.try_one(lambda: 1 / 0, "deep-1-0", case, tmp_path)
    assert (count.inputs, count.releases, count.findings) == (1, 0, 1)
    assert from_json((tmp_path / "deep-1-0").read_bytes()).plan == case.plan
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_fields_of_tables_are_counted_too():
    plan = {"k": 2, "method": "mdav", "scale": {"seams": True}}
    assert [*fields_in(plan)] == ["k", "method", "method mdav", "scale", "scale.seams"]
