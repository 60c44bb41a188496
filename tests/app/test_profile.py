"""Formats and roles of attributes; never a value."""

import json
import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.app.profile import profiles
from shoal.tables import open_table


def profile(name, values):
    [found] = profiles(open_table(pa.table({name: values})))
    return found


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (["Ab-12", "Cd-34", "x"], "Aa-99"),
        ([12, 34, 5], "99"),
        ([1.5, -2.5, None, -3.5], "-9.9"),
        (["été", "ÉTÉ", "été"], "aaa"),
        (["½ 🐟", "Ⅷ\n🐟"], "9 *"),
        (["x" * 40], "a" * 17 + "…"),
        ([None, None], ""),
        (pa.array(["a", "b", "b"]).dictionary_encode(), "a"),
        (pa.array([True, False]), "aaaa"),
    ],
)
def test_the_most_common_format_is_shown(values, form):
    assert profile("x", values)["format"] == form


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("age", list(range(40)), "quasi"),
        ("patient_id", list(range(40)), "identifier"),
        ("E-mail", ["a"] * 40, "identifier"),
        ("paid", list(range(40)), "quasi"),
        ("note", [f"text {row}" for row in range(40)], "identifier"),
        ("note", [f"text {row}" for row in range(10)], "quasi"),  # too few to tell
        ("town", ["a", "b"] * 20, "quasi"),
        ("children", [[1], [2]] * 20, "identifier"),
        ("household", [{"size": 1}, {"size": 2}] * 20, "identifier"),
        ("photo", [b"\xff", b"\xfe"] * 20, "identifier"),
    ],
)
def test_roles_are_guessed_on_the_safe_side(name, values, role):
    assert profile(name, values)["role"] == role


def test_missing_values_are_counted():
    assert profile("age", [1, None, 3, None])["missing"] == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("aBc7ßñ漢-🐟", min_size=4, max_size=30), min_size=1, max_size=30), st.integers(10**6, 10**9))
def test_no_value_is_ever_shown(texts, number):
    table = pa.table({"t": texts, "n": [number] * len(texts), "mixed": [*map(str, range(len(texts) - 1)), texts[0]]})
    said = json.dumps([{**each, "name": ""} for each in profiles(open_table(table))], ensure_ascii=False)
    assert str(number) not in said
    forms = [each["format"] for each in profiles(open_table(table))]
    assert all(re.fullmatch(r"[9Aa*\-…]*", form) for form in forms)
    letters_and_digits = [text for text in texts if re.search(r"[Bcßñ漢7🐟]", text)]
    assert not [text for text in letters_and_digits if text in forms]
