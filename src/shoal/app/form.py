"""What somebody chose on the page, and the plan that says it: nothing that a plan could not say."""

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from shoal.errors import PlanError, in_a_line
from shoal.plan import AttributeType, Plan
from shoal.text import listed

ROLES = {
    "quasi": "masked (quasi-identifier)",
    "confidential": "confidential",
    "identifier": "dropped (identifier)",
    "unit": "unit (k counts these)",
    "publish": "released unchanged",
}
_ON_PAGE = {"weights": "publish", "strata": "publish", "household": "identifier"}  # what is chosen in the next step
TYPES: tuple[AttributeType, ...] = get_args(AttributeType)
METHODS = {
    "auto": "chosen for you",
    "best": "best: a search for the lowest loss",
    "tour": "tour: a short way through all records, cut best",
    "mdav": "mdav: the classic",
    "vmdav": "vmdav: groups of varying size",
    "univariate": "univariate: one attribute, optimal",
    "pca": "pca: along the first principal component",
    "zscores": "zscores: along the sum of z-scores",
    "npn-mhm": "npn-mhm: from record to nearest record, cut best",
    "mdav-mhm": "mdav-mhm: along the groups of mdav, cut best",
    "cbfs-mhm": "cbfs-mhm: along the groups of cbfs, cut best",
}
ENDINGS = {
    "csv": "CSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "sav": "SPSS",
    "dta": "Stata",
    "xlsx": "Excel",
    "xml": "XML",
}


def sentences(error: PlanError) -> list[str]:
    """Return what is wrong with a plan, with fields named as on the page."""
    found = []
    for field_, what in error.problems:
        name, _, attribute = field_.partition(".")
        title = Plan.model_fields[name].title if name in Plan.model_fields else None
        found.append(in_a_line(field_, what, f"{title or name}{' of ' if attribute else ''}{attribute}"))
    return found


@dataclass
class Choices:
    """The state of the form.

    Attributes
    ----------
    roles, types
        Of attributes; only types that differ from what the file says become part of the plan.
    known_levels
        Levels that are told by their words; values of the data, and so never shown.
    missing_words
        Words in a CSV file that mean a missing value.
    levels
        Of ordinal attributes, in order, with commas between them; a level that has one itself stands in quotes.
    unit_as, household_as
        What becomes of the numbers of units and households: dropped, or replaced by random ones.
    dominance
        n and k of the (n, k)-rule, with a comma between them.
    missing_codes
        Of attributes, with commas between them: values that stand for a missing value.
    edits, edits_file
        Rules, one a line; or the file that holds them.
    ending
        The kind of file to write.
    """

    roles: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    inferred: dict[str, str] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    known_levels: dict[str, list[str]] = field(default_factory=dict)
    attribute_weights: dict[str, float] = field(default_factory=dict)
    k: int = 5
    method: str = "auto"
    budget: str = ""
    missing: str = "error"
    missing_words: list[str] = field(default_factory=list)
    missing_codes: dict[str, str] = field(default_factory=dict)
    blocks: str = ""
    strata: list[str] = field(default_factory=list)
    small_strata: str = "error"
    weights: str = ""
    unit_as: str = "drop"
    household: str = ""
    household_as: str = "drop"
    only: str = ""
    l: int | None = None  # noqa: E741 - the literature's own name
    t: float | None = None
    p_percent: float | None = None
    dominance: str = ""
    keep_totals: list[str] = field(default_factory=list)
    edits: str = ""
    edits_file: Path | None = None
    edits_original: str = "fail"
    round: bool = True
    ending: str = "csv"

    @classmethod
    def of(cls, columns: list[dict[str, Any]], missing_words: list[str], ending: str) -> "Choices":
        """Begin with what is proposed for the columns of a file: see `shoal.pipeline.roles.Proposal`."""
        roles = {each["column"]: each["role"] for each in columns}
        codes = {
            each["column"]: [str(code) for code in each["missing_codes"] if not isinstance(code, str)]
            for each in columns
        }
        gaps = [each["column"] for each in columns if each["missing"] or codes[each["column"]]]
        return cls(
            roles={name: _ON_PAGE.get(role, role) for name, role in roles.items()},
            types={each["column"]: each["type"] for each in columns},
            inferred={each["column"]: "" if each["guessed"] else each["type"] for each in columns},
            known_levels={each["column"]: each["levels"] for each in columns if each["levels"]},
            strata=[name for name, role in roles.items() if role == "strata"],
            weights=next((name for name, role in roles.items() if role == "weights"), ""),
            household=next((name for name, role in roles.items() if role == "household"), ""),
            missing="group" if any(roles[name] == "quasi" for name in gaps) else "error",
            missing_codes={name: ", ".join(each) for name, each in codes.items() if each},
            missing_words=missing_words,
            ending=ending if ending in ENDINGS else "csv",
        )

    def having(self, role: str) -> list[str]:
        """Name the attributes of a role, in the order of the file."""
        return [name for name, each in self.roles.items() if each == role]

    @property
    def kept(self) -> list[str]:
        """The attributes that are published as they are: strata and survey weights are among them."""
        return [name for name, role in self.roles.items() if role in ("confidential", "publish")]

    def levels_of(self, name: str) -> list[str]:
        """Return the levels of an ordinal attribute that were typed, or else those that its words tell."""
        if self.types[name] != "ordinal":
            return []
        typed = self.levels.get(name, "")
        return _levels(typed) if typed.strip() else list(self.known_levels.get(name, []))

    def options(self) -> dict[str, Any]:
        """Return the options of the plan: what is usual is left out, and what does not apply to the rest.

        Raises
        ------
        PlanError
            Several attributes are chosen as the unit.
        """
        masked = self.having("quasi")
        diverse = self.l is not None or self.t is not None
        used = [*masked, *(self.having("confidential") if diverse else [])]
        strata = [name for name in self.strata if name in self.kept]
        dropped, unit = self.having("identifier"), self._unit()
        household = self.household if self.household in dropped else None
        rules = [line.strip() for line in self.edits.splitlines() if line.strip()]
        edits = (rules or None) if self.edits_file is None else str(self.edits_file)
        given: dict[str, Any] = {
            "k": self.k,
            "quasi": masked,
            "confidential": self.having("confidential"),
            "identifiers": [name for name in dropped if name != household],
            "unit": unit,
            "unit_as": None if unit is None or self.unit_as == "drop" else self.unit_as,
            "household": household,
            "household_as": "drop" if household is None else self.household_as,
            "only": self.only or None,
            "publish": [name for name in self.having("publish") if name not in (*strata, self.weights)],
            "csv": {"missing": self.missing_words} if self.missing_words else None,
            "types": {name: type_ for name, type_ in self.types.items() if self._changed(name, used)},
            "levels": {name: levels for name in used if (levels := self.levels_of(name))},
            "attribute_weights": {name: each for name, each in self.attribute_weights.items() if name in masked},
            "method": self.method,
            "budget": (self.budget.strip() or None) if self.method == "best" else None,
            "missing": self.missing,
            "missing_codes": {
                name: _levels(text)
                for name, text in self.missing_codes.items()
                if text.strip() and self.roles[name] in ("quasi", "confidential")
            },
            "blocks": self.blocks or None,
            "strata": strata or None,
            "small_strata": self.small_strata if strata or edits else "error",
            "weights": self.weights if self.weights in self.kept else None,
            "l": self.l,
            "t": self.t,
            "p_percent": self.p_percent,
            "dominance": self.dominance.strip() or None,
            "keep_totals": [name for name in self.keep_totals if name in self.kept] or None,
            "edits": edits,
            "edits_original": self.edits_original if edits else "fail",
            "round": None if self.round else False,
        }
        usual = {name: each.default for name, each in Plan.model_fields.items()}
        return {name: value for name, value in given.items() if value != usual[name]}

    def _unit(self) -> str | None:
        """Return the attribute whose values k counts."""
        units = self.having("unit")
        if len(units) > 1:
            raise PlanError([("unit", f"is chosen for {listed(units)}, and k counts one. Drop the others in step 2.")])
        return next(iter(units), None)

    def _changed(self, name: str, used: list[str]) -> bool:
        return name in used and self.types[name] != self.inferred[name]


def _levels(text: str) -> list[str]:
    """Read levels as a line of CSV."""
    line = " ".join(text.splitlines())
    return [level.strip() for level in next(csv.reader([line], skipinitialspace=True))]
