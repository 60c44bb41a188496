"""The fields of a plan as the page shows them: none is left out, and each has an input that suits it."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

from nicegui import Client, ui
from nicegui.page import page

from shoal.app.fields import as_list, as_text, beside, fields_of, labels_of, nested, page_words, values_of
from shoal.app.inputs import Inputs
from shoal.errors import PlanError
from shoal.plan import Plan
from shoal.plan.fields import GROUPS, option
from shoal.plan.options import options_of, tables_of


@pytest.fixture
def window():
    """Draw without a browser."""
    client = Client(page("/"), request=None)
    with client:
        yield client
    client.delete()


ALL = [
    *(name for name in Plan.model_fields if name not in tables_of(Plan)),
    *(f"{table}.{name}" for table, part in tables_of(Plan).items() for name in part.model_fields),
]


@pytest.mark.parametrize("name", ALL)
def test_every_field_of_the_plan_has_an_input_with_its_label_and_help(window, name):
    field = fields_of(Plan)[name]
    Inputs({}, ["age", "income"]).draw(name)
    shown = [each.props.get("label") or getattr(each, "text", "") for each in window.elements.values()]
    assert any(field.label in text for text in shown if text)
    assert field.help in shown
    assert field.group in GROUPS
    assert field.label[0] != "_"


@pytest.fixture(scope="module")
def help_text():
    """What `shoal protect --help` prints, without the lines around it."""
    command = [sys.executable, "-m", "shoal", "protect", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "300"}, check=True)
    return re.split(r"[\s,│]+", done.stdout)


@pytest.mark.parametrize("name", ALL)
def test_every_field_of_the_plan_has_an_option_in_the_help(help_text, name):
    spellings = [each.spelling for each in options_of(Plan) if ".".join(each.path) == name]
    assert spellings
    assert {*spellings} <= {*help_text}


class Longer(Plan):
    """A plan with new fields."""

    colour: str | None = option(None, "method", "the colour of `k`", metavar="NAME")
    shades: list[str] = option([], "rules", "attributes with shades")


def test_a_new_field_of_the_plan_appears_by_itself(window):
    inputs = Inputs({}, ["age"], model=Longer)
    inputs.draw("colour").set_value("red")
    inputs.draw("shades").set_value(["age"])
    assert inputs.values == {"colour": "red", "shades": ["age"]}
    assert fields_of(Longer)["colour"].help == "The colour of “k”."


def test_kinds_follow_from_the_types_of_fields():
    kinds = {name: field.kind for name, field in fields_of(Plan).items()}
    assert kinds["unit"] == "column"
    assert kinds["strata"] == kinds["scale.dimensions"] == "columns"
    assert kinds["dominance"] == kinds["refine"] == kinds["scale.memory"] == kinds["k"] == "text"
    assert kinds["csv.missing"] == "words"
    assert kinds["round"] == "open switch"
    assert kinds["only"] == kinds["missing"] == "choice"
    assert fields_of(Plan)["constraints"].choices == ("non-negative", "integer")
    assert {kinds[name] for name in ("bounds", "levels", "attribute_weights")} == {"pairs"}


PLANS = [
    {"k": 5, "quasi": ["a", "b"], "refine": True},
    {"k": 5, "quasi": ["a", "b"], "refine": 2.5, "dominance": [1, 60], "magnitudes": ["a"]},
    {"k": 5, "quasi": ["a", "b"], "aggregate": {"a": "median"}, "scale": {"memory": "4GB"}, "round": False},
    {"k": 5, "quasi": ["a", "b"], "blocks": [["a"], ["b"]], "aggregate": "median"},
    {"k": 5, "quasi": ["a", "b"], "epsilon": 1.0, "bounds": {"a": [0, 1.5], "b": [0, 2]}},
    {"k": 5, "quasi": ["a", "b"], "recode": {"a": [18, 30.5], "b": {"n": ["A", "so, so"], "s": [1]}}},
    {"quasi": ["c"], "method": "ms", "confidential": ["a", "b"], "alpha": [[0.3, 0.1], [0.1, 0.3]]},
    {"k": 4, "quasi": ["a", "b"], "edits": ["a > b", "b > 0"], "csv": {"missing": ["NA", "a,b"]}, "seed": 3},
]


@pytest.mark.parametrize("options", PLANS)
def test_the_values_of_a_plan_give_the_plan_again(window, options):
    plan = Plan(**options)
    values = values_of(plan)
    assert Plan(**nested(values)) == plan
    inputs = Inputs(values, ["a", "b", "c"])
    for name in fields_of(Plan):
        inputs.draw(name)
    assert Plan(**nested(inputs.values)) == plan


def test_what_is_typed_is_read_by_the_plan_and_what_is_emptied_is_left_out(window):
    noted = []
    inputs = Inputs({}, ["age"], noted.append)
    drawn = {name: inputs.draw(name) for name in ("k", "dominance", "missing", "strata", "refine", "alpha", "round")}
    for name, value in {"k": "7", "dominance": "1, 60", "refine": "true", "alpha": "[[0.5]]", "round": False}.items():
        drawn[name].set_value(value)
    assert inputs.values["alpha"] == [[0.5]]
    plan = Plan(**nested({**inputs.values, "method": "auto"} | {"alpha": None}), quasi=["age"])
    assert (plan.k, plan.dominance, plan.refine, plan.round) == (7, [1, 60], True, False)
    for name, value in {"k": "", "dominance": " ", "refine": "", "alpha": "", "round": None}.items():
        drawn[name].set_value(value)
    assert inputs.values == {}
    assert {*noted} == {"k", "dominance", "refine", "alpha", "round"}


def test_lists_with_commas_are_typed_in_quotes():
    assert as_list('low, "so, so" ,high') == ["low", "so, so", "high"]
    assert as_list(as_text(["low", "so, so", 'say "hi"'])) == ["low", "so, so", 'say "hi"']
    assert as_text([1, 60.5]) == "1, 60.5"
    assert as_list("") == []


def test_what_is_wrong_stands_beside_its_field(window):
    with pytest.raises(PlanError) as refused:
        Plan(k=5, quasi=["a"], small_strata="merge", budget="5s", method="mdav", scale={"memory": "much"})
    inputs = Inputs({}, ["a"])
    for name in ("small_strata", "scale.memory"):
        inputs.draw(name)
    problems = beside(refused.value, inputs.drawn)
    said = {each.field: page_words(each.about(None)) for each in refused.value.messages}
    assert {*said} == {"small_strata", "scale.memory", "budget"}
    assert problems == {
        "small_strata": f"{said['small_strata'][0].upper()}{said['small_strata'][1:]}",
        "scale.memory": f"{said['scale.memory'][0].upper()}{said['scale.memory'][1:]}",
        "": f"Budget: {said['budget']}",
    }
    shown = re.findall("“(.*?)”", " ".join(problems.values()))
    assert {*shown} == {"Strata", "Method", "Refine the groups", "Raise the lower bound"}
    inputs.show(problems)
    shown = [each.text for each in window.elements.values() if isinstance(each, ui.label) and each.visible]
    assert problems["small_strata"] in shown
    inputs.show({})
    shown = [each.text for each in window.elements.values() if isinstance(each, ui.label) and each.visible]
    assert problems["small_strata"] not in shown


def test_messages_name_fields_as_the_page_does():
    assert page_words("Use --missing group, -k 5 or --no-round.") == (
        "Use “Missing values” group, “k” 5 or no “Whole numbers stay whole”."
    )
    assert page_words("a well-known --thing stays") == "a well-known --thing stays"
    options = {".".join(each.path) for each in options_of(Plan)}
    assert options <= {*labels_of(Plan)}
    assert len({*labels_of(Plan).values()}) == len(labels_of(Plan))
