"""shoal.roles: one guess for every face."""

import pyarrow as pa
import pytest

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
    with pytest.raises(shoal.PlanError, match="No column is proposed to be masked"):
        found.plan()


def test_neither_rows_nor_notebooks_nor_comments_show_a_value():
    found = shoal.roles(PEOPLE.append_column("secret", pa.array(["Zanzibar", "Timbuktu"] * 30)))
    comments = [line for line in found.to_toml().splitlines() if line.startswith("#")]
    for shown in (str(found.rows), found._repr_html_(), "\n".join(comments)):
        assert "reason" in shown or "age" in shown
        assert not [word for word in ("example.org", "Zanzibar", "low", "medium") if word in shown]
