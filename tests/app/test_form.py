"""What is chosen on the page, and the plan that it makes."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.expect import refused, reports

from shoal.app.fields import fields_of, on_page
from shoal.app.form import (
    APART,
    ELSEWHERE,
    ENDINGS,
    IN_FRONT,
    METHODS,
    ON_COLUMNS,
    ROLES,
    TYPES,
    Choices,
    panels,
    step_of,
)
from shoal.app.listing import FILTERS, ON_PAGE, Listing
from shoal.errors import PlanError
from shoal.messages import Message
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
        ({"values": {"k": "7"}}, {"k": "7"}),
        ({"values": {"k": 5, "method": "best", "budget": "5s"}}, {"method": "best", "budget": "5s"}),
        ({"values": {"k": 5, "scale.memory": "4GB"}}, {"scale": {"memory": "4GB"}}),
        ({"values": {"k": 5, "csv.missing": ["NA"]}}, {"csv": {"missing": ["NA"]}}),
        ({"values": {"k": 5, "edits": ["age >= 0"]}}, {"edits": ["age >= 0"]}),
        ({"values": {"k": 5, "edits": ["age >= 0"]}, "edits_file": Path("rules.sch")}, {"edits": "rules.sch"}),
        ({"ending": "sav"}, {}),
        ({"attribute_weights": {"age": "2", "region": "3"}}, {"attribute_weights": {"age": "2"}}),  # of masked ones
        ({"missing_codes": {"age": "999, -9", "name": "9"}}, {"missing_codes": {"age": ["999", "-9"]}}),
        ({"levels": {"mood": "low, high"}}, {}),  # not ordinal
    ],
)
def test_every_choice_is_an_option_of_the_plan(choices, chosen, options):
    found = replace(choices, **chosen).options()
    assert found == {**USUAL, **options}
    Plan(**found)


@pytest.mark.parametrize("role", ROLES)
def test_every_role_is_a_field_of_the_plan(choices, role):
    choices.roles["region"] = role
    plan = Plan(**choices.options())
    field = "identifiers" if role == "identifier" else role
    assert "region" in plan.roles[field]
    assert sum("region" in names for names in plan.roles.values()) == 1


def test_a_role_that_one_attribute_can_have_is_refused_for_two_and_a_missing_role_is_named(choices):
    choices.roles |= {"name": "unit", "region": "unit", "weight": ""}
    with pytest.raises(PlanError) as caught:
        choices.options()
    first, second = caught.value.messages
    assert reports([first], "columns-without-role", columns=["weight"], others=0)
    assert reports([second], "role-of-several", "unit", columns=["name", "region"])
    assert on_page(second).startswith("Unit: ")


def test_of_many_attributes_without_a_role_five_are_named(choices):
    choices.roles = {f"a{i}": "" for i in range(7)}
    choices.types = dict.fromkeys(choices.roles, "nominal")
    with refused(PlanError, "columns-without-role", columns=[f"a{i}" for i in range(5)], others=2):
        choices.options()


def test_what_does_not_apply_is_refused_and_not_left_out(choices):
    choices.values |= {"budget": "5s", "method": "mdav", "small_strata": "merge", "edits_original": "keep"}
    with pytest.raises(PlanError) as caught:
        Plan(**choices.options())
    assert {each.field for each in caught.value.messages} == {"budget", "small_strata", "edits_original"}


def test_levels_with_commas_stand_in_quotes(choices):
    choices.types["mood"] = "ordinal"
    choices.levels["mood"] = 'low, "so, so" ,high'
    plan = Plan(**choices.options())
    assert plan.types == {"mood": "ordinal"}
    assert plan.levels == {"mood": ["low", "so, so", "high"]}


def test_the_type_of_a_sensitive_attribute_plays_a_part_if_groups_compare_it(choices):
    choices.types["income"] = "nominal"
    assert "types" not in choices.options()
    choices.values["l"] = "2"
    assert Plan(**choices.options()).types == {"income": "nominal"}


def test_nothing_to_mask_is_not_everything_to_mask(choices):
    choices.roles = dict.fromkeys(NAMES, "publish")
    with pytest.raises(PlanError) as caught:
        Plan(**choices.options())
    assert [on_page(each).split(":")[0] for each in caught.value.messages] == ["Quasi-identifiers"]


def test_mistakes_are_named_as_on_the_page():
    weight = Message("too-small", field="attribute_weights.age", limit=0, open=True)
    size = Message("too-small", field="k", limit=2)
    said = [f"Attribute weights of age: {weight.about(None)}", f"k: {size.about(None)}"]
    assert [on_page(each) for each in (weight, size)] == said


def test_what_is_offered_is_what_a_plan_takes():
    assert {*METHODS} == {*fields_of(Plan)["method"].choices}
    for type_ in TYPES:
        Plan(k=5, quasi=["a"], types={"a": type_})
    assert "csv" in ENDINGS


PROPOSALS = [
    Proposal("age", "quasi", "continuous", missing=3, numeric=True),
    Proposal("size", "quasi", "ordinal", levels=("low", "so, so", "high"), guessed=True),
    Proposal("wgt", "weights", "continuous", numeric=True),
    Proposal("layer", "strata", "nominal", warning="look"),
    Proposal("wave", "publish", "nominal", guessed=True, numeric=True, missing_codes=(9, "NA")),
]
COLUMNS = [each._asdict() for each in PROPOSALS]


def test_a_file_begins_with_what_is_proposed():
    begun = Choices.of(COLUMNS, {"csv.missing": ["NA"]}, "sas7bdat")
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


# Each with what the form names one by one, where the plan leaves it to the table.
PLANS = [
    ({"k": 4, "quasi": ["size", "age"], "identifiers": ["wgt", "layer", "wave"], "method": "vmdav", "gain": 0.3}, {}),
    (
        {"k": 4, "quasi": ["age", "size"], "types": {"size": "ordinal"}, "levels": {"size": ["low", "so, so", "high"]}}
        | {"weights": "wgt", "strata": ["layer"], "publish": ["wave"], "small_strata": "merge", "seed": 4},
        {},
    ),
    (
        {
            "k": 3,
            "blocks": [["age", "size"], ["wave"]],
            "identifiers": ["wgt", "layer"],
            "aggregate": {"age": "median"},
        },
        {"quasi": ["age", "size", "wave"]},
    ),
    (
        {"k": 3, "quasi": ["age"], "confidential": ["size"], "types": {"size": "ordinal"}, "l": 2, "publish": ["layer"]}
        | {"identifiers": ["wgt", "wave"], "missing_codes": {"age": [-9, "x"]}, "attribute_weights": {"age": 2.0}},
        {},
    ),
    (
        {"quasi": ["wgt"], "confidential": ["age"], "method": "ms", "alpha": {"age": 0.5}, "publish": "rest"},
        {"publish": ["size", "layer", "wave"]},
    ),
    (
        {"k": 3, "quasi": ["age"], "publish": "rest", "edits": ["age > 0"], "levels": {"layer": ["a", "b"]}},
        {"publish": ["size", "wgt", "layer", "wave"]},
    ),
    (
        {"k": 3, "quasi": ["age"], "publish": "rest", "csv": {"delimiter": ";"}, "scale": {"block_size": 100}},
        {"publish": ["size", "wgt", "layer", "wave"]},
    ),
    ({"k": 3, "publish": "rest", "identifiers": ["wave"]}, {"quasi": ["age", "wgt"], "publish": ["size", "layer"]}),
]


@pytest.mark.parametrize(("options", "named"), PLANS)
def test_a_plan_that_is_loaded_gives_the_plan_again(options, named):
    loaded = Plan(**Choices.of_plan(Plan(**options), COLUMNS, "csv").options())
    assert loaded == Plan(**{**options, **named})


def test_a_plan_for_other_columns_is_refused_and_columns_it_does_not_know_have_no_role():
    with refused(PlanError, "unknown-column", "quasi", column="height"):
        Choices.of_plan(Plan(k=3, quasi=["height"]), COLUMNS, "csv")
    loaded = Choices.of_plan(Plan(k=3, quasi=["age"]), COLUMNS, "csv")
    assert loaded.having("") == ["size", "wgt", "layer", "wave"]


def test_rules_in_a_file_must_be_uploaded_with_the_plan():
    loaded = Choices.of_plan(Plan(k=3, quasi=["age"], publish="rest", edits="/there/rules.sch"), COLUMNS, "csv")
    with refused(PlanError, "rules-file-needed", "edits", file="rules.sch"):
        loaded.options()
    loaded.edits_file = Path("/here/rules.sch")
    assert loaded.options()["edits"] == "/here/rules.sch"


@pytest.mark.parametrize("name", fields_of(Plan))
def test_every_field_of_the_plan_is_on_one_step_of_the_page(name):
    in_panels = [field.name for fields in panels().values() for field in fields]
    apart = name in (*IN_FRONT, *APART, *ELSEWHERE)
    places = [step_of(name) == "file", name in ON_COLUMNS, apart, name in in_panels]
    assert sum(places) == 1


def test_spark_is_not_on_the_page():
    fields = {field.name: field for fields in panels().values() for field in fields}
    assert "scale.master" not in fields
    assert "spark" not in fields["engine"].choices


def test_panels_follow_the_groups_of_the_help():
    for group, fields in panels().items():
        assert {field.group for field in fields} == {group}


def test_attributes_are_found_by_name_role_warning_and_gaps():
    choices = Choices.of(COLUMNS, {}, "csv")
    found = {
        filter_: [each["column"] for each in Listing(filter=filter_).matching(COLUMNS, choices)] for filter_ in FILTERS
    }
    assert found[""] == [each.column for each in PROPOSALS]
    assert found["role quasi"] == ["age", "size"]
    assert found["warning"] == ["layer"]
    assert found["missing"] == ["age", "wave"]
    assert found["no role"] == []
    assert [each["column"] for each in Listing(search=" AGE ").matching(COLUMNS, choices)] == ["age"]


def test_many_attributes_are_shown_a_page_at_a_time():
    columns = [{"column": f"q{at}"} for at in range(2 * ON_PAGE + 1)]
    listing = Listing(page=9)
    assert [each["column"] for each in listing.shown(columns)] == [f"q{2 * ON_PAGE}"]
    assert (listing.page, listing.pages(columns), listing.pages([])) == (3, 3, 1)
