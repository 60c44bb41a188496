"""Codes for missing values, told from answers."""

import random

import pyarrow as pa
import pytest

from shoal.pipeline.missing_codes import labelled_codes, missing_codes, missing_words
from shoal.pipeline.roles import propose
from shoal.tables.profile import profile_piece
from shoal.tables.stat.labels import Labels, with_labels

CHANCE = random.Random(0)


def profile(cells, name="x", **labels):
    field = with_labels(pa.field(name, pa.array(cells).type), Labels(**labels))
    return profile_piece(pa.table([cells], schema=pa.schema([field]))).columns[name]


def some(low, high, *codes, times=400, each=12):
    return [CHANCE.randrange(low, high + 1) for _ in range(times)] + [code for code in codes for _ in range(each)]


CODED = {
    "education with 9": (some(1, 5, 9), (9,)),
    "8 and 9": (some(1, 5, 8, 9), (8, 9)),
    "ages with 99": (some(18, 90, 99), (99,)),
    "97 to 99": (some(0, 60, 97, 98, 99), (97, 98, 99)),
    "amounts with 999999": (some(1, 60_000, 999_999), (999_999,)),
    "negative codes": (some(0, 50, -9, -8, -1), (-9, -8, -1)),
    "both ends": (some(1, 7, -1, 99), (-1, 99)),
}
NOT_CODED = {
    "digits": some(0, 9),
    "a scale to 10": some(1, 10),
    "ages to 99": some(0, 99),
    "one child of nine": [*some(0, 6), 9],
    "one amount": [*some(1, 90_000), 99_999],
    "temperatures": some(-20, 30),
    "fractions": [CHANCE.gauss(50, 20) for _ in range(400)],
    "text": ["9", "x"] * 50,
}


@pytest.mark.parametrize("case", CODED)
def test_codes_apart_from_the_answers_are_found(case):
    values, codes = CODED[case]
    assert missing_codes(profile(values)) == codes


@pytest.mark.parametrize("case", NOT_CODED)
def test_answers_are_no_codes(case):
    assert missing_codes(profile(NOT_CODED[case])) == ()


@pytest.mark.parametrize("label", ["Don't know", "keine Angabe", "ne sait pas", "No sabe", "Non risponde", "Refused"])
def test_codes_with_a_label_for_no_answer_are_found_wherever_they_are(label):
    values = some(1, 5)
    assert missing_codes(profile(values, values={1.0: "yes", 5.0: label})) == (5,)


def test_labels_of_some_codes_only_are_warned_of():
    values = some(1, 5)
    assert labelled_codes(profile(values, values={1.0: "low", 5.0: "high"})) == "3 values have no label, 2 have one."
    assert labelled_codes(profile(values, values={float(i): str(i) for i in range(1, 6)})) == ""
    assert labelled_codes(profile(values)) == ""


def test_words_for_missing_values_among_numbers_are_found():
    assert missing_words(profile(["1", "2", "NA", "?"])) == ("?", "NA")
    assert missing_words(profile(["1", "x", "NA"])) == ()
    assert missing_words(profile(["NA", "yes"])) == ()


def test_labels_in_order_make_an_ordinal_attribute():
    scale = {1.0: "Very bad", 2.0: "Bad", 3.0: "Fair", 4.0: "Good", 8.0: "Don't know"}
    [ordered] = propose([profile(some(1, 4, 8), values=scale)])
    [mixed] = propose([profile(some(1, 4), values={**scale, 2.0: "Good", 4.0: "Bad"})])
    assert (ordered.type, mixed.type) == ("ordinal", "nominal")


def test_the_label_of_a_variable_tells_as_much_as_its_name():
    [found] = propose([profile(some(1, 4), name="v12", label="Religious denomination")])
    assert (found.role, found.reason) == ("confidential", 'belief: label contains "religious", 4 different values')
