"""The one place that gives messages a capital letter and a period."""

import pytest

from shoal.messages import Message, warning
from shoal.text import sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("column 'a' is empty", "Column 'a' is empty."),
        ("a CSV file holds no labels", "A CSV file holds no labels."),
        ("preserved: the mean", "Preserved: the mean."),
        ("missing-value codes were read", "Missing-value codes were read."),
        ("k = 5 is more than the table has", "k = 5 is more than the table has."),
        ("l-diversity was not requested", "l-diversity was not requested."),
        ("--seed had no effect", "--seed had no effect."),
        ("mic1d guarantees no groups", "mic1d guarantees no groups."),
        ("keep_totals: in 2 domains", "keep_totals: in 2 domains."),
        ("'age' is not a column. Did you mean 'ages'?", "'age' is not a column. Did you mean 'ages'?"),
        ("", ""),
    ],
)
def test_a_sentence_has_a_capital_letter_and_a_period_and_names_keep_their_letters(text, expected):
    assert sentence(text) == expected
    assert sentence(expected) == expected


def test_a_message_is_a_sentence_with_its_severity():
    assert warning("rows are sorted") == "Rows are sorted."
    assert Message("rows are sorted").as_json() == {"severity": "note", "text": "Rows are sorted."}
