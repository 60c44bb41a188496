"""The one place that gives messages a capital letter and a period."""

import pytest

from shoal.messages import Message, warning
from shoal.text import sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("column 'a'", "Column 'a'."),
        ("a CSV file", "A CSV file."),
        ("preserved: the mean", "Preserved: the mean."),
        ("missing-value codes", "Missing-value codes."),
        ("k = 5", "k = 5."),
        ("l-diversity was", "l-diversity was."),
        ("--seed had", "--seed had."),
        ("mic1d guarantees", "mic1d guarantees."),
        ("keep_totals: in", "keep_totals: in."),
        ("'age'. Or 'ages'?", "'age'. Or 'ages'?"),
        ("", ""),
    ],
)
def test_a_sentence_has_a_capital_letter_and_a_period_and_names_keep_their_letters(text, expected):
    assert sentence(text) == expected
    assert sentence(expected) == expected


def test_a_message_is_a_sentence_with_its_severity():
    assert warning("rows are sorted") == "Rows are sorted."
    note = Message("rows are sorted").as_json()
    assert (note["severity"], note["text"]) == ("note", "Rows are sorted.")
