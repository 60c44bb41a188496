"""shoal.roles: one guess for every face."""

import json

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused

import shoal

PEOPLE = pa.table(
    {
        "email": [f"p{i}@example.org" for i in range(60)],
        "age": [20 + i * 7 % 50 for i in range(60)],
        "size": ["low", "high", "medium"] * 20,
        "diagnosis": [1, 2, 3] * 20,
        "wave": [1, 2] * 30,
    }
)


def test_the_proposed_plan_can_be_carried_out():
    found = shoal.roles(PEOPLE)
    assert [each.role for each in found] == ["identifier", "quasi", "quasi", "confidential", "publish"]
    plan = found.plan(k=3)
    assert plan.levels == {"size": ["low", "medium", "high"]}
    assert shoal.protect(PEOPLE, plan).table.column_names == ["age", "size", "diagnosis", "wave"]


def test_a_table_of_identifiers_leaves_nothing_to_mask():
    found = shoal.roles(PEOPLE.select(["email"]))
    with refused(shoal.PlanError, "nothing-to-mask", "quasi"):
        found.plan()


def test_neither_rows_nor_notebooks_nor_comments_show_a_value():
    found = shoal.roles(PEOPLE.append_column("secret", pa.array(["Zanzibar", "Timbuktu"] * 30)))
    comments = [line for line in found.to_toml().splitlines() if line.startswith("#")]
    for shown in (str(found.rows), found._repr_html_(), "\n".join(comments)):
        assert "reason" in shown or "age" in shown
        assert not [word for word in ("example.org", "Zanzibar", "low", "medium") if word in shown]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["x", "wave", "name", "age", "weight", "diagnosis", "hh", "income", "stratum"]),
    st.lists(st.text("Bcßñ漢7🐟@.-/ ", min_size=8, max_size=30), min_size=1, max_size=60),
    st.integers(10**7, 10**9),
)
def test_no_value_is_ever_shown_and_no_unique_text_is_ever_published(name, texts, number):
    table = pa.table({name: texts, "n": [number] * len(texts), "mixed": [*map(str, range(len(texts) - 1)), texts[0]]})
    found = shoal.roles(table)
    shown = json.dumps([{**row, "column": ""} for row in found.rows], ensure_ascii=False) + found._repr_html_()
    assert str(number) not in shown
    assert not [text for text in texts if text in shown]
    if len({*texts}) == len(texts) > 1:
        assert found[0].role != "publish"


def test_the_reference_sets_have_their_roles(reference_file):
    eia = {each.column: each.role for each in shoal.roles(reference_file("eia"))}
    assert [name for name, role in eia.items() if role == "identifier"] == ["UTILITYID", "UTILNAME"]
    census = {each.role for each in shoal.roles(reference_file("census"))}
    assert census == {"weights", "quasi"}
    water = shoal.roles(reference_file("water-treatment"))
    assert water.csv.missing == ["?"]
    assert {each.type for each in water[1:]} == {"continuous"}


def test_the_household_survey_of_sdcmicro_has_its_roles(reference_file):
    found = {each.column: each for each in shoal.roles(reference_file("sdcmicro/testdata"))}
    assert found["ori_hid"].role == "household"
    assert "5 columns to mask once per household" in found["ori_hid"].reason
    assert "household" in found["ori_hid"].reason
    assert found["household_weights"].role == "weights"
    assert found["roof"].missing_codes == (9,)
    masked = {"urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age", "hhcivil"}
    assert masked <= {name for name, each in found.items() if each.role == "quasi"}
