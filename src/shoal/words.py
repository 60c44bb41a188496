"""Small pieces of the sentences that users read."""

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Say how many: 1 record, 2,000 records."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str]) -> str:
    """Name columns: 'age', 'income'."""
    return ", ".join(f"'{name}'" for name in names)
