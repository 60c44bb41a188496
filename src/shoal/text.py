"""Small pieces of the sentences that users read."""

from collections.abc import Sequence

# The figures of `shoal.measures.exposure`, in the order in which they are shown.
RISKS = {
    "uniques": "records unlike any other",
    "smallest": "records in the smallest group",
    "real_k": "records in a group on average, k'",
    "reidentification": "records an intruder links right, on average",
}


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Format a count: 1 record, 2,000 records."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str]) -> str:
    """Name columns: 'age', 'income'."""
    return ", ".join(f"'{name}'" for name in names)
