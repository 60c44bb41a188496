"""Tables with unmistakable values in them, releases of every sort, and a reader of reports."""

import datetime
import re
from functools import cache
from itertools import pairwise

import lxml.html
import numpy as np
import pyarrow as pa

import shoal

# Nobody should find any of these in a report: of identifiers, of confidential attributes, and rare quasi-identifiers.
PLANTED = ["Xanthippe", "5551234", "5,551,234", "Kryptonosis", "Zzyzx", "7654321", "7,654,321", "1811", "level-of-one"]


def people(n=160, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n).astype(float)
    age[5] = 7654321.0
    town = rng.choice(["Ayr", "Rye", "Wem"], n).tolist()
    town[7] = "Zzyzx"
    size = rng.choice(["small", "middle", "large"], n).tolist()
    size[9] = "level-of-one"
    born = [datetime.date(1940, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 20_000, n)]
    born[11] = datetime.date(1811, 5, 3)
    gaps = rng.normal(170, 9, n)
    gaps[rng.random(n) < 0.15] = np.nan
    wages, other = rng.integers(10, 900, n), rng.integers(10, 900, n)
    return pa.table(
        {
            "name": [f"Xanthippe {i}" for i in range(n)],
            "age": age,
            "income": rng.lognormal(9, 1, n),
            "debt": rng.lognormal(7, 1, n),
            "wages": wages,
            "other": other,
            "costs": wages + other,
            "town": town,
            "size": size,
            "born": born,
            "height": pa.array(gaps, from_pandas=True),
            "sick": rng.choice(["Kryptonosis A", "Kryptonosis B"], n),
            "wealth": 5551234.0 + rng.integers(0, 9, n) / 16,
            "region": rng.choice(["north", "south"], n),
            "weight": rng.uniform(1, 5, n),
            "free": rng.integers(0, 3, n),
        }
    )


ROLES = {"identifiers": ["name"], "confidential": ["sick", "wealth"]}
NUMBERS = {"k": 4, "quasi": ["age", "income", "debt"], **ROLES}
LEVELS = {"size": ["small", "middle", "large", "level-of-one"]}

RELEASES = {
    "numbers": NUMBERS,
    "one attribute": {"k": 4, "quasi": ["age"], **ROLES},
    "every type": {
        **{"k": 4, "quasi": ["age", "town", "size", "born", "height"], "levels": LEVELS, "missing": "group", **ROLES},
    },
    "imputed": {"k": 4, "quasi": ["age", "height"], "missing": "impute", **ROLES},
    "suppressed": {"k": 4, "quasi": ["age", "height"], "missing": "suppress", **ROLES},
    "blocks": {"k": 4, "blocks": [["age", "income"], ["debt", "wages"]], **ROLES},
    "strata": {**NUMBERS, "strata": ["region"]},
    "weights": {**NUMBERS, "weights": "weight", "preserve": "weighted_mean"},
    "diverse": {"k": 4, "quasi": ["age", "income"], "identifiers": ["name"], "confidential": ["sick"], "l": 2},
    "mic1d": {**NUMBERS, "method": "mic1d", "k": 12},
    "edits": {"k": 4, "quasi": ["wages", "other", "costs"], "edits": ["wages + other == costs"], **ROLES},
    "record blocks": {**NUMBERS, "method": "mdav", "scale": {"block_size": 60}},
    "hybrid": {"method": "hybrid", "k": 20, "quasi": ["income", "debt"], **ROLES},
    "hybrid, masked": {"method": "hybrid", "k": 20, "quasi": ["age", "income"], "mask_quasi": True, **ROLES},
    "ms": {
        "method": "ms",
        "alpha": 0.4,
        "quasi": ["income", "debt"],
        "identifiers": ["name"],
        "confidential": ["wealth"],
    },
}


@cache
def release_of(sort):
    # Fresh noise may leave a value as it was, which is refused; this one does not.
    seed = {"seed": 2} if RELEASES[sort].get("method") in ("hybrid", "ms") else {}
    return shoal.protect(people(), publish="rest", **RELEASES[sort], **seed)


def read(text):
    """Parse a report, and refuse what no report may have."""
    assert "<script" not in text.lower()
    assert not re.search(r"""(https?:)?//[a-z]|url\(|@import|javascript:|\son[a-z]+=""", text, re.IGNORECASE)
    page = lxml.html.document_fromstring(text)
    assert not page.xpath("//script | //link | //img | //iframe | //object | //embed | //base")
    assert not page.xpath("//@src | //@*[local-name()='href'][not(starts-with(., '#'))]")
    ids = page.xpath("//@id")
    assert len(set(ids)) == len(ids)
    assert {href[1:] for href in page.xpath("//@href")} <= set(ids)
    return page


def assert_accessible(page):
    assert page.get("lang") == "en"
    assert page.findtext(".//title").strip()
    levels = [int(heading.tag[1]) for heading in page.xpath("//h1 | //h2 | //h3 | //h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for picture in page.xpath("//svg"):
        assert picture.get("role") == "img"
        assert len(picture.get("aria-label")) > 20
        assert "nan" not in picture.get("aria-label").lower()
    for table in page.xpath("//table"):
        columns = table.xpath("./thead/tr/th[@scope='col']")
        assert len(columns) > 1
        assert all(heading.text_content().strip() for heading in columns)
        for row in table.xpath("./tbody/tr"):
            assert len(row) == len(columns)
            assert row[0].get("scope") == "row"
