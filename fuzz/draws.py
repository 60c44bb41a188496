"""Bytes as decisions: the same bytes make the same table and the same plan, with or without atheris."""

from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")


class Draws:
    """Takes bytes from the front; when there are none left, everything is the first choice."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def byte(self) -> int:
        """Take a byte."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def integer(self, low: int, high: int) -> int:
        """Take a whole number from a range, both ends included."""
        width = (high - low).bit_length() + 7 >> 3
        number = int.from_bytes(bytes(self.byte() for _ in range(width)), "little")
        return low + number % (high - low + 1)

    def pick(self, choices: Sequence[Choice]) -> Choice:
        """Take one of several."""
        return choices[self.integer(0, len(choices) - 1)]

    def chance(self, one_in: int) -> bool:
        """Say yes once in so many times; no when there are no bytes left."""
        return self.byte() % one_in == one_in - 1
