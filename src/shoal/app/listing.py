"""Which of the attributes the second step shows: those that match a search and a filter, a page at a time."""

from dataclasses import dataclass, field
from typing import Any

from shoal.app.form import NO_ROLE, ROLES, Choices
from shoal.text import visible

ON_PAGE = 25  # attributes at a time: a browser is slow with thousands of inputs
_WARNED, _GAPS = "with a warning", "with missing values"
FILTERS = {
    "": "all attributes",
    **{f"role {role}": f"role: {label}" for role, label in ROLES.items()},
    "no role": NO_ROLE,
    "warning": _WARNED,
    "missing": _GAPS,
}


@dataclass
class Listing:
    """What one window shows of the attributes.

    Attributes
    ----------
    search, filter
        A part of the name, whatever its case; one of `FILTERS`.
    page
        Counted from 1.
    selected
        The attributes that a role or a type can be set for together.
    opened
        The attributes whose details are shown.
    """

    search: str = ""
    filter: str = ""
    page: int = 1
    selected: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)

    def matching(self, columns: list[dict[str, Any]], choices: Choices) -> list[dict[str, Any]]:
        """Return the attributes that match the search and the filter."""
        part = self.search.strip().casefold()
        return [each for each in columns if part in visible(each["column"]).casefold() and self._passes(each, choices)]

    def _passes(self, column: dict[str, Any], choices: Choices) -> bool:
        role = choices.roles[column["column"]]
        match self.filter.split():
            case ["role", wanted]:
                return role == wanted
            case ["no", "role"]:
                return not role
            case ["warning"]:
                return bool(column["warning"])
            case ["missing"]:
                return bool(column["missing"] or choices.missing_codes.get(column["column"]))
        return True

    def shown(self, matching: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the attributes of the page."""
        self.page = max(1, min(self.page, self.pages(matching)))
        return matching[(self.page - 1) * ON_PAGE : self.page * ON_PAGE]

    @staticmethod
    def pages(matching: list[dict[str, Any]]) -> int:
        """Return how many pages there are."""
        return max(1, -(-len(matching) // ON_PAGE))
