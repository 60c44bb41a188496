"""The survey of the demonstration, with the roles and types of its attributes."""

import pyarrow as pa

from shoal.errors import MissingExtra

QUASI = ["age", "yrs_married", "children", "religious", "educ", "occupation", "occupation_husb"]
# Answers in steps (how religious, how much schooling) and kinds of work are given as codes; only some are numbers.
TYPES = {"religious": "ordinal", "educ": "ordinal", "occupation": "nominal", "occupation_husb": "nominal"}
CONFIDENTIAL = ["rate_marriage", "affairs"]


def survey() -> pa.Table:
    """Load the survey that comes inside statsmodels (Fair 1978, A theory of extramarital affairs)."""
    try:
        from statsmodels.datasets import fair
    except ImportError:
        raise MissingExtra("shoal demo", "demo,report") from None
    return pa.Table.from_pandas(fair.load_pandas().data, preserve_index=False)
