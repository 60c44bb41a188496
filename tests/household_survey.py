"""A household survey as it comes from the field: `python tests/household_survey.py survey.csv` writes it.

5,000 people with names, e-mail addresses, dates of birth, person and phone numbers, a weight that hardly two records
share, household numbers, dates of interviews, codes and incomes. All of it is made up.
"""

import datetime
import sys

import numpy as np
import pyarrow as pa
from pyarrow import csv

RECORDS = 5_000
_FIRST = ["Ann", "Bert", "Clara", "Dan", "Eva", "Finn", "Greta", "Hugo", "Ida", "Jan", "Kate", "Leo", "Mia", "Ned"]
_LAST = ["Archer", "Baker", "Carter", "Dyer", "Fisher", "Glover", "Hunter", "Mason", "Potter", "Sawyer", "Weaver"]


def survey(records: int = RECORDS) -> pa.Table:
    """Make the survey; always the same."""
    rng = np.random.default_rng(1)
    household = np.sort(rng.integers(10_000, 10_000 + records // 2, records))
    people = list(zip(rng.choice(_FIRST, records), rng.choice(_LAST, records), strict=True))
    born = np.datetime64("1935-01-01") + rng.integers(0, 25_000, records)
    age = (np.datetime64("2024-06-01") - born).astype(int) // 365
    income = np.round(rng.lognormal(10, 0.7, records)).astype(int)
    return pa.table(
        {
            "person_no": 50_000_000 + rng.permutation(9 * records)[:records],
            "name": [f"{one} {other}" for one, other in people],
            "email": [f"{one.lower()}.{other.lower()}{i}@example.org" for i, (one, other) in enumerate(people)],
            "phone": 600_000_000 + rng.permutation(20 * records)[:records] * 97,
            "birth_date": pa.array(born.astype(datetime.date), pa.date32()),
            "household_no": household,
            "interview_date": pa.array(
                (np.datetime64("2024-03-01") + rng.integers(0, 90, records)).astype(datetime.date), pa.date32()
            ),
            "weight": np.round(rng.lognormal(6, 0.5, records), 2),
            "sex": rng.choice([1, 2], records),
            "education": rng.choice([1, 2, 3, 4, 5], records, p=[0.1, 0.3, 0.3, 0.2, 0.1]),
            "region": rng.choice(["north", "south", "east", "west"], records),
            "marital_status": rng.choice(["single", "married", "widowed", "divorced"], records),
            "health": rng.choice(["good", "fair", "bad"], records, p=[0.6, 0.3, 0.1]),
            "income": income,
            "rent": np.round(income * rng.uniform(0.1, 0.5, records)).astype(int),
            "age": age,
            "wave": np.full(records, 3),
        }
    )


if __name__ == "__main__":
    csv.write_csv(survey(), sys.argv[1])
