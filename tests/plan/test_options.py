"""The options of the command line are the fields of the plan: each once, described, grouped, and read as written."""

import re
from typing import Any, Literal

import pytest
import typer
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from pydantic import Field
from tests.expect import refused
from typer.main import get_command
from typer.testing import CliRunner

from shoal import PlanError, __version__
from shoal.cli import app
from shoal.cli.commands import PlanCommand
from shoal.cli.options import PANELS, takes_plan
from shoal.plan import Csv, Plan, Scale
from shoal.plan.commands import arguments
from shoal.plan.fields import GROUPS, option
from shoal.plan.options import choices_of, options_of, read

OPTIONS = options_of(Plan)
PROTECT = get_command(app).commands["protect"].loaded
TAKEN: list[dict[str, Any]] = []
taking = typer.Typer()
taking.command()(takes_plan()(lambda options: TAKEN.append(options)))
TAKING = get_command(taking)
KEYWORDS = {
    *("anyOf", "oneOf", "type", "items", "enum", "const", "default", "title", "description", "$ref", "pattern"),
    *("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems"),
    *("additionalProperties", "x-group", "x-option", "x-metavar", "x-each", "x-rest", "x-off", "x-example", "x-public"),
}


def help_of(command: str, **more: Any) -> list[str]:
    result = CliRunner().invoke(
        more.get("app", app), [*([command] if command else []), "--help"], env={"COLUMNS": "80"}
    )
    assert result.exit_code == 0
    return result.stdout.splitlines()


def rows(lines: list[str]) -> list[str]:
    """What stands in the first columns of the panels: long spellings, short ones, and arguments."""
    found = [re.match(r"│ +([A-Z]+) |│ (?:(--[\w-]+) *)?(?: {0,20}(-\w) )?", line) for line in lines]
    return [spelling for match in found if match for spelling in match.groups() if spelling]


def fields() -> list[tuple[str, ...]]:
    tables = {"csv": Csv, "scale": Scale}
    own = [(name,) for name in Plan.model_fields if name not in tables]
    return own + [(table, name) for table, model in tables.items() for name in model.model_fields]


def test_every_field_has_an_option_and_none_is_spelled_twice():
    assert {each.path for each in OPTIONS} == {*fields()}
    spellings = [spelling for each in OPTIONS for spelling in each.spellings]
    assert len(spellings) == len({*spellings})


def test_every_field_is_in_the_help_exactly_once():
    found = rows(help_of("protect"))
    for each in OPTIONS:
        for spelling in each.spellings:
            assert found.count(spelling) == 1, spelling


def test_the_help_has_a_panel_for_each_group_in_order_and_fits_a_narrow_terminal():
    lines = help_of("protect")
    assert max(map(len, lines)) <= 80
    panels = [match[1] for line in lines if (match := re.match(r"╭─ (.+?) ─", line))]
    assert panels == ["Arguments", *PANELS.values(), "Other"]
    assert [*PANELS] == [*GROUPS]


def test_the_help_names_every_choice():
    text = {each.path: each.help for each in reversed(OPTIONS)}
    for name, field in Plan.model_fields.items():
        for choice in choices_of(field.annotation):
            assert str(choice) in text[name,], name


@pytest.mark.parametrize("command", ["sweep", "edits", "check", "assess"])
def test_other_commands_spell_and_describe_fields_alike(command):
    mine = {each.name: each.help for each in PROTECT.params}
    shared = [each for each in get_command(app).commands[command].loaded.params if each.name in mine]
    own = {"k", "plan", "output", "report", "overwrite", "as_json", "data", "seed"}
    if command in ("check", "assess"):  # which look at a masked file
        own |= {"quasi", "confidential", "weights", "edits", "block"}
        own |= {"unit", "p_percent", "dominance", "magnitudes", "key"}
    assert len(shared) > 5
    assert not [each.name for each in shared if each.name not in own and each.help != mine[each.name]]


@pytest.mark.parametrize("part", [None, "Csv", "Scale"])
def test_the_json_schema_describes_and_groups_every_field_in_plain_keywords(part):
    schema = Plan.model_json_schema()
    found = schema["$defs"][part] if part else schema
    for name, each in found["properties"].items():
        assert each["description"], name
        assert each["x-group"] in GROUPS, name
        assert not {*each} - KEYWORDS, name
        assert not [key for one in each.get("anyOf", []) for key in one if key not in KEYWORDS], name


class More(Plan):
    """A plan with fields that nobody has listed anywhere."""

    noise: Literal["low", "high"] | None = option(None, "protection", "noise on every value, with `k` only")
    shades: dict[str, int] = Field({}, description="shades by attribute")
    quick: bool = option(False, "files", "whether to be quick")


def test_a_new_field_is_an_option_by_itself():
    taken = []
    more = typer.Typer()
    more.command(cls=PlanCommand)(takes_plan(model=More)(lambda options: taken.append(options)))
    text = " ".join(" ".join(help_of("", app=more)).replace("│", " ").split())
    assert re.search(r"--noise +WORD +Noise .*, with -k only\. .*: low, high\.", text)
    words = ["-k", "3", "--noise", "low", "--shades", "a=1", "--shades", "b=2", "--quick"]
    assert CliRunner().invoke(more, words).exit_code == 0
    assert taken == [{"k": "3", "noise": "low", "shades": {"a": "1", "b": "2"}, "quick": True}]
    plan = More(input="a.csv", **taken[0])
    assert plan.shades == {"a": 1, "b": 2}
    assert [word for each in arguments(plan) for word in each] == ["-k", "3", "--output", "masked.csv", *words[2:]]
    assert {"noise", "shades", "quick"} <= {*More.model_json_schema()["properties"]}


# A plan, its command line, and the plan again

PLAIN = st.text("abcXYZ_09é", min_size=1, max_size=5)
AWKWARD = st.text("ab=,- '\"\\$é", min_size=1, max_size=4)


@st.composite
def plans(draw: st.DrawFn, names: st.SearchStrategy[str]) -> Plan:
    """Any plan: fields that contradict others are taken out until none does."""
    known = draw(st.lists(names, min_size=4, max_size=8, unique=True))
    some = st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True)
    one, size, number = st.sampled_from(known), st.integers(1, 9), st.floats(0.001, 100)

    def by_name(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
        return st.dictionaries(one, values, min_size=1, max_size=2)

    word = {
        name: st.sampled_from(found)
        for name, field in Plan.model_fields.items()
        if (found := choices_of(field.annotation))
    }
    options: dict[str, st.SearchStrategy[Any]] = {
        **{
            name: word[name]
            for name in ("method", "missing", "standardize", "small_strata", "edits_original", "engine")
        },
        **dict.fromkeys(("quasi", "confidential", "identifiers", "strata", "recompute", "adjust"), some),
        **dict.fromkeys(("bound", "mask_quasi", "restore_variance"), st.just(True)),
        "round": st.booleans(),
        **dict.fromkeys(("trim", "block_size"), size),
        **dict.fromkeys(("gain", "epsilon"), number),
        "l": st.integers(2, 5) | st.floats(1.01, 5),
        "l_form": word["l_form"],
        "c": number,
        "t": st.floats(0.01, 1),
        "weights": one,
        "publish": st.just("rest") | some,
        "preserve": st.just("weighted_mean"),
        "budget": st.sampled_from(["60s", "1.5h", 500]),
        "refine": st.sampled_from([True, 2.5]),
        "alpha": st.one_of(st.floats(0, 0.9), by_name(st.floats(0, 0.9)), st.lists(st.floats(0, 0.9))),
        "constraints": by_name(st.just(["non-negative", "integer"])),
        "types": by_name(word["types"]),
        "levels": by_name(st.lists(names | st.integers(0, 9), min_size=1, max_size=3, unique=True)),
        "attribute_weights": by_name(number),
        "aggregate": word["aggregate"] | by_name(word["aggregate"]),
        "blocks": word["blocks"] | st.lists(some, min_size=1, max_size=2),
        "bounds": by_name(st.tuples(st.floats(-9, 0), st.floats(1, 9)).map(list)),
        "edits": st.just("rules.sch")
        | st.lists(st.sampled_from(["a + b == c", "-1 <= a", "if a < 1 then b == 0"]), min_size=1),
        "output": st.just("out.parquet"),
        "csv": st.fixed_dictionaries(
            {"delimiter": st.sampled_from(",;-")},
            optional={
                "missing": st.lists(names, min_size=1, max_size=2),
                "decimal": st.just(","),
                "encoding": st.just("cp437"),
            },
        ),
        "scale": st.fixed_dictionaries(
            {"block_size": st.integers(20, 99)},
            optional={
                "seams": st.just(True),
                "blocking": st.just("2^d"),
                "dimensions": some,
                "memory": st.just("4GB"),
                "master": st.just("local[2]"),
            },
        ),
    }
    asked = draw(st.sets(st.sampled_from([*options]), min_size=1, max_size=12))
    found = {"k": draw(st.integers(2, 9)), "input": "-a b.csv", **{name: draw(options[name]) for name in sorted(asked)}}
    while True:
        try:
            return Plan(**found)
        except PlanError as error:
            wrong = {(each.field or "").partition(".")[0] for each in error.messages} & {*found} - {"k", "input"}
            if not wrong:
                reject()
            found = {name: value for name, value in found.items() if name not in wrong}


def parsed(plan: Plan) -> Plan | None:
    """The plan that the command line of a plan gives, through the parser of the command."""
    options = arguments(plan)
    if options is None:
        return None
    TAKEN.clear()
    TAKING.main(["./-a b.csv", *(word for each in options for word in each)], standalone_mode=False)
    return Plan(**TAKEN[0])


def expected(plan: Plan) -> dict[str, Any]:
    return {**plan.options(), "input": "./-a b.csv", "output": plan.output or "masked.csv"}


@given(plans(PLAIN))
@settings(max_examples=150, deadline=None)
@example(Plan(k=3, input="-a b.csv", refine=2.0, gain=None))
def test_a_plan_with_plain_names_has_a_command_line_that_gives_the_same_plan(plan):
    again = parsed(plan)
    if again is None:  # numbers among levels, and matrices, are for plan files
        numbers = [each for levels in plan.levels.values() for each in levels if not isinstance(each, str)]
        assert numbers or isinstance(plan.alpha, list)
    else:
        assert again.options() == expected(plan)


@given(plans(AWKWARD))
@settings(max_examples=150, deadline=None)
def test_a_plan_with_awkward_names_has_a_command_line_that_gives_the_same_plan_or_none(plan):
    again = parsed(plan)
    assert again is None or again.options() == expected(plan)


# What is refused


@pytest.mark.parametrize(
    ("given", "field", "code", "data"),
    [
        ({"type": ["a"]}, "types", "not-pairs", {"option": "--type"}),
        ({"type": ["a=date", "a=date"]}, "types", "names-twice", {"column": "a"}),
        ({"edits": "a.sch", "edit": ["a > 1"]}, "edits", "given-by-two-options", {"options": ["--edits", "--edit"]}),
    ],
)
def test_what_cannot_be_taken_apart_is_told_by_its_option(given, field, code, data):
    with refused(PlanError, code, field, **data):
        read(OPTIONS, given)


def test_all_that_cannot_be_taken_apart_is_told_at_once():
    with pytest.raises(PlanError) as error:
        read(OPTIONS, {"type": ["a"], "levels": ["b"]})
    assert [each.field for each in error.value.messages] == ["types", "levels"]


def test_the_version_is_printed():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"shoal {__version__}\n")
