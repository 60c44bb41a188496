"""Every version of a paper that the documentation offers by name can be had by it."""

import sys
import tomllib

import numpy as np
import pandas as pd
import pytest
from tests.docs.pages import DOCS

import shoal

sys.path.insert(0, str(DOCS / "_ext"))

from departures import DEPARTURES, PAPERS, table

OFFERED = [each for each in DEPARTURES if each.plan]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    a = rng.integers(20, 60, 120)
    levels = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    return pd.DataFrame(
        {
            "a": a,
            "b": a + rng.integers(0, 20, 120),
            "c": rng.normal(10, 3, 120),
            "d": rng.normal(100, 9, 120),
            "edu": pd.Categorical(rng.choice(["low", "middle", "high"], 120), dtype=levels),
        }
    )


@pytest.mark.parametrize("departure", OFFERED, ids=lambda each: f"{each.paper}-{each.printed[:30]}")
def test_the_version_of_the_paper_runs_under_its_name(people, departure):
    wanted = {"k": 4, "quasi": ["a", "b", "c", "d", "edu"], **tomllib.loads(departure.plan)}
    named = {*wanted["quasi"], *wanted.get("confidential", [])}
    release = shoal.protect(people[[name for name in people if name in named]], **wanted)
    asked = {name: value for name, value in tomllib.loads(departure.plan).items() if name not in ("k", "quasi", "seed")}
    written = release.plan.model_dump(exclude_defaults=True)
    assert asked.keys() <= written.keys(), "the release forgets what was asked for"


def test_every_departure_has_a_paper_a_reason_and_a_page():
    for each in DEPARTURES:
        assert each.paper in PAPERS
        assert each.reason
        assert (DOCS / "methods" / each.page).is_file(), each.page
        assert each.plan or "not offered" in each.reason.lower()
    for paper in PAPERS:
        assert "|" in table(paper).splitlines()[2]
