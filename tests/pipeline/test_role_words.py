"""Looking words up finds the same words as the regular expressions of the lists."""

import re

import pytest

from shoal.pipeline.role_words import MEANINGS, means

LISTED = {meaning: words.split() for meaning, words in MEANINGS.items()}
PLAIN = sorted({word.strip("*#") for words in LISTED.values() for word in words})


@pytest.mark.parametrize("meaning", MEANINGS)
def test_words_mean_what_the_pattern_of_their_list_matches(meaning):
    pattern = re.compile("|".join(word.replace("*", "[a-z]*").replace("#", "[0-9]+") for word in LISTED[meaning]))
    around = [("", ""), ("x", ""), ("12", ""), ("", "s"), ("", "3"), ("", "s3"), ("x", "3"), ("12", "s")]
    spoken = ["", "7", *(f"{before}{word}{after}" for word in PLAIN for before, after in around)]
    assert [word for word in spoken if means(word, meaning)] == [word for word in spoken if pattern.fullmatch(word)]
