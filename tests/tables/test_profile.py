"""Profiles of columns: they add up over pieces in any order, and keep no value where it could be seen."""

import datetime
import random
from functools import reduce
from operator import add

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.tables.profile import Distinct, pair_piece, profile_piece


def profile(values):
    return profile_piece(pa.table({"x": values})).columns["x"]


@pytest.mark.parametrize(
    ("values", "shape"),
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
def test_the_most_common_shape_is_kept(values, shape):
    assert profile(values).shape == shape


TYPED = {
    "text": st.text("ab7 é@.-", max_size=6),
    "number": st.integers(-100, 100),
    "float": st.floats(allow_nan=False, allow_infinity=False, width=16),
    "date": st.dates(datetime.date(1900, 1, 1), datetime.date(2030, 1, 1)),
    "flag": st.booleans(),
}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.fixed_dictionaries({name: st.none() | each for name, each in TYPED.items()}), min_size=1), st.data())
def test_pieces_add_up_to_the_whole_in_any_order(rows, data):
    schema = pa.schema(
        [
            ("text", pa.string()),
            ("number", pa.int64()),
            ("float", pa.float64()),
            ("date", pa.date32()),
            ("flag", pa.bool_()),
        ]
    )
    cut = data.draw(st.integers(0, len(rows)))
    whole = profile_piece(pa.Table.from_pylist(rows, schema)).columns
    pieces = [profile_piece(pa.Table.from_pylist(part, schema)) for part in (rows[cut:], rows[:cut])]
    for name, found in reduce(add, pieces).columns.items():
        one, two = vars(whole[name]), vars(found)
        for fact in one.keys() - {"distinct", "total", "squares"}:
            assert one[fact] == two[fact], fact
        assert found.total == pytest.approx(whole[name].total)
        assert found.distinct.count == whole[name].distinct.count == len({row[name] for row in rows} - {None})


def test_many_different_values_are_estimated_within_a_percent():
    found = profile(list(range(300_000))).distinct
    assert not found.is_exact
    assert found.count == pytest.approx(300_000, rel=0.01)
    assert (found + found).count == found.count
    assert (found + Distinct()).count == found.count


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["p1@example.org"], "e-mail addresses"),
        (["+34 977 558 000", "(030) 1234-5678", "555-123-4567"], "phone numbers"),
        (["DE89 3704 0044 0532 0130 00", "ES9121000418450200051332"], "account numbers (IBAN)"),
        (["123-45-6789", "12345678Z", "RSSMRA85T10A562S", "756.1234.5678.97"], "personal numbers"),
        (["12 Main Street", "Carrer Major 4", "Hauptstraße 3", "5 rue de Paris"], "street addresses"),
        (["01307", "SW1A 1AA", "1011 AB"], "post codes"),
        (["31.12.1987", "12/31/87", "1987-12-31"], "dates"),
        (["Ann Smith", "Puig, Jordi", "María del Mar"[:5] + " López"], "names of people"),
        (["192.168.0.1"], "IP addresses"),
        (["https://example.org/a"], "web addresses"),
    ],
)
def test_formats_are_recognised(values, kind):
    assert profile(values).formats[kind] == len(values)


def test_codes_with_leading_zeros_are_no_numbers():
    assert profile(["01307", "02000"]).numbers == 0
    assert profile(["1307", "2000", "NA"]).numbers == 2
    assert profile(["1307", "2000", "NA"]).stand_ins == {"NA": 1}


def test_a_profile_shows_no_value():
    shown = repr(profile(["Zanzibar", "Timbuktu", "Timbuktu"])) + repr(profile([4711, 4712]))
    assert not [value for value in ("Zanzibar", "Timbuktu", "4711", "4712") if value in shown]


def test_what_is_constant_within_units_is_counted_over_pieces():
    units = [i // 4 for i in range(400)]
    random.Random(0).shuffle(units)
    table = pa.table(
        {"unit": units, "a": [u % 7 for u in units], "b": list(range(400)), "c": [str(u % 3) for u in units]}
    )
    pieces = [pair_piece(table.slice(start, 100), None, ["unit"]) for start in (300, 0, 100, 200)]
    assert reduce(add, pieces).constant_within("unit") == 2
