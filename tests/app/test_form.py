"""What is chosen on the page, and the plan that says it."""

from dataclasses import replace
from pathlib import Path

import pytest

from shoal.app.form import ENDINGS, METHODS, ROLES, TYPES, Choices, sentences
from shoal.errors import PlanError
from shoal.pipeline.roles import Proposal
from shoal.plan import Plan

NAMES = ("name", "age", "mood", "income", "region", "weight")


@pytest.fixture
def choices():
    """A file of people, whose roles are known."""
    roles = dict(zip(NAMES, ("identifier", "quasi", "quasi", "confidential", "publish", "publish"), strict=True))
    types = dict.fromkeys(NAMES, "continuous") | {"mood": "nominal"}
    return Choices(roles=roles, types=types, inferred=dict(types))


USUAL = {
    "k": 5,
    "quasi": ["age", "mood"],
    "confidential": ["income"],
    "identifiers": ["name"],
    "publish": ["region", "weight"],
}


@pytest.mark.parametrize(
    ("chosen", "options"),
    [
        ({}, {}),
        ({"k": 7}, {"k": 7}),
        ({"method": "mdav"}, {"method": "mdav"}),
        ({"method": "best", "budget": " 5s "}, {"method": "best", "budget": "5s"}),
        ({"method": "mdav", "budget": "5s"}, {"method": "mdav"}),
        ({"missing": "impute"}, {"missing": "impute"}),
        ({"blocks": "correlated"}, {"blocks": "correlated"}),
        (
            {"strata": ["region"], "small_strata": "merge"},
            {"strata": ["region"], "small_strata": "merge", "publish": ["weight"]},
        ),
        ({"small_strata": "merge"}, {}),
        ({"strata": ["age"]}, {}),  # masked since
        ({"weights": "weight"}, {"weights": "weight", "publish": ["region"]}),
        ({"weights": "name"}, {}),  # dropped since
        ({"l": 2}, {"l": 2}),
        ({"t": 0.3}, {"t": 0.3}),
        ({"p_percent": 10.0}, {"p_percent": 10.0}),
        ({"dominance": " 1, 60"}, {"dominance": "1, 60"}),
        ({"dominance": " "}, {}),
        ({"keep_totals": ["region"]}, {"keep_totals": ["region"]}),
        ({"keep_totals": ["age", "name"]}, {}),  # masked and dropped since
        ({"household": "name"}, {"household": "name", "identifiers": []}),
        (
            {"household": "name", "household_as": "pseudonym"},
            {"household": "name", "household_as": "pseudonym", "identifiers": []},
        ),
        ({"household_as": "pseudonym", "unit_as": "pseudonym"}, {}),  # of none
        ({"only": "at_risk"}, {"only": "at_risk"}),
        ({"edits": "age >= 0\n\n  age is integer "}, {"edits": ["age >= 0", "age is integer"]}),
        ({"edits": "age >= 0", "edits_original": "keep"}, {"edits": ["age >= 0"], "edits_original": "keep"}),
        ({"edits_original": "keep"}, {}),
        ({"edits": "age >= 0", "edits_file": Path("rules.sch")}, {"edits": "rules.sch"}),
        ({"round": True}, {}),
        ({"round": False}, {"round": False}),
        ({"ending": "sav"}, {}),
        ({"attribute_weights": {"age": 2.0, "region": 3.0}}, {"attribute_weights": {"age": 2.0}}),
        ({"levels": {"mood": "low, high"}}, {}),  # not ordinal
    ],
)
def test_every_choice_is_an_option_of_the_plan(choices, chosen, options):
    found = replace(choices, **chosen).options()
    assert found == {name: value for name, value in {**USUAL, **options}.items() if value != []}
    Plan(**found)


@pytest.mark.parametrize("unit_as", ["drop", "pseudonym"])
def test_units_are_dropped_or_get_random_numbers(choices, unit_as):
    choices.roles["name"] = "unit"
    choices.unit_as = unit_as
    plan = Plan(**choices.options())
    assert (plan.unit, plan.unit_as or "drop") == ("name", unit_as)
    assert not plan.identifiers


def test_a_second_unit_is_a_mistake_in_words(choices):
    choices.roles |= {"name": "unit", "region": "unit"}
    with pytest.raises(PlanError) as refused:
        choices.options()
    assert sentences(refused.value) == [
        "Unit: is chosen for 'name', 'region', and k counts one. Drop the others in step 2."
    ]


def test_a_rule_of_dominance_that_is_none_is_named_as_on_the_page(choices):
    with pytest.raises(PlanError) as refused:
        Plan(**replace(choices, dominance="60").options())
    assert [each.split(":")[0] for each in sentences(refused.value)] == ["Dominance"]


def test_levels_with_commas_stand_in_quotes(choices):
    choices.types["mood"] = "ordinal"
    choices.levels["mood"] = 'low, "so, so" ,high'
    plan = Plan(**choices.options())
    assert plan.types == {"mood": "ordinal"}
    assert plan.levels == {"mood": ["low", "so, so", "high"]}


def test_the_type_of_a_confidential_attribute_plays_a_part_with_l_or_t_alone(choices):
    choices.types["income"] = "nominal"
    assert "types" not in choices.options()
    choices.l = 2
    assert Plan(**choices.options()).types == {"income": "nominal"}


def test_nothing_to_mask_is_not_everything_to_mask(choices):
    choices.roles = dict.fromkeys(NAMES, "publish")
    with pytest.raises(PlanError) as refused:
        Plan(**choices.options())
    assert [each.split(":")[0] for each in sentences(refused.value)] == ["Masked attributes"]


def test_mistakes_are_named_as_on_the_page():
    error = PlanError([("attribute_weights.age", "must be more than 0"), ("k", "must be at least 2")])
    assert sentences(error) == ["Weight of age: must be more than 0", "k: must be at least 2"]


def test_what_is_offered_is_what_a_plan_takes():
    for method in METHODS:
        Plan(k=5, quasi=["a"], method=method)
    for type_ in TYPES:
        Plan(k=5, quasi=["a"], types={"a": type_})
    assert set(ROLES) == {"quasi", "confidential", "identifier", "unit", "publish"}
    assert "csv" in ENDINGS


def test_a_file_begins_with_what_is_proposed():
    proposals = [
        Proposal("age", "quasi", "continuous", missing=3),
        Proposal("size", "quasi", "ordinal", levels=("low", "so, so", "high"), guessed=True),
        Proposal("wgt", "weights", "continuous"),
        Proposal("layer", "strata", "nominal"),
        Proposal("wave", "publish", "nominal", guessed=True),
    ]
    begun = Choices.of([each._asdict() for each in proposals], ["NA"], "sas7bdat")
    assert begun.ending == "csv"
    assert begun.options() == {
        "k": 5,
        "quasi": ["age", "size"],
        "publish": ["wave"],
        "weights": "wgt",
        "strata": ["layer"],
        "types": {"size": "ordinal"},
        "levels": {"size": ["low", "so, so", "high"]},
        "missing": "group",
        "csv": {"missing": ["NA"]},
    }
    Plan(**begun.options())
