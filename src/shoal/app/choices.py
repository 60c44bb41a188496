"""What somebody chose on the page, and the plan that says it: nothing that a plan could not say."""

from dataclasses import dataclass, field
from typing import Any

from shoal.app.profile import Profile
from shoal.plan import Plan

ROLES = {
    "quasi": "masked (quasi-identifier)",
    "confidential": "confidential",
    "identifier": "dropped (identifier)",
    "other": "published as it is",
}
TYPES = ("continuous", "ordinal", "nominal", "date", "datetime", "boolean")
METHODS = {
    "auto": "chosen for you",
    "best": "best: a search for the lowest loss",
    "tour": "tour: a short way through all records, cut best",
    "mdav": "mdav: the classic",
    "vmdav": "vmdav: groups of varying size",
    "univariate": "univariate: one attribute, optimal",
    "pca": "pca: along the first principal component",
    "zscores": "zscores: along the sum of z-scores",
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


@dataclass
class Choices:
    """The state of the form.

    Attributes
    ----------
    roles, types, levels
        Of attributes; only types that differ from what the file says become part of the plan.
    edits, edits_file
        Rules, one a line; or the file that holds them.
    ending
        The kind of file to write.
    """

    roles: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    inferred: dict[str, str] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    attribute_weights: dict[str, float] = field(default_factory=dict)
    k: int = 5
    method: str = "auto"
    budget: str = ""
    missing: str = "error"
    blocks: str = ""
    strata: list[str] = field(default_factory=list)
    small_strata: str = "error"
    weights: str = ""
    l: int | None = None  # noqa: E741 - the literature's own name
    t: float | None = None
    edits: str = ""
    edits_file: str = ""
    edits_original: str = "fail"
    round: bool = False
    ending: str = "csv"

    @classmethod
    def of(cls, profiles: list[Profile], ending: str) -> "Choices":
        """Begin with what the file suggests."""
        types = {each["name"]: str(each["type"]) for each in profiles}
        return cls(
            roles={each["name"]: each["role"] for each in profiles},
            types=types,
            inferred={each["name"]: "" if each["doubt"] else str(each["type"]) for each in profiles},
            missing="group" if any(each["missing"] and each["role"] == "quasi" for each in profiles) else "error",
            ending=ending if ending in ENDINGS else "csv",
        )

    def having(self, role: str) -> list[str]:
        """Name the attributes of a role, in the order of the file."""
        return [name for name, each in self.roles.items() if each == role]

    def options(self) -> dict[str, Any]:
        """Give the options of the plan; what is usual is left out."""
        masked = self.having("quasi")
        used = {*masked, *self.having("confidential")}
        given: dict[str, Any] = {
            "k": self.k,
            "quasi": masked or None,
            "confidential": self.having("confidential"),
            "identifiers": self.having("identifier"),
            "types": {name: type_ for name, type_ in self.types.items() if self._changed(name, used)},
            "levels": {
                name: [level.strip() for level in text.split(",")]
                for name, text in self.levels.items()
                if text.strip() and self.types[name] == "ordinal" and name in used
            },
            "attribute_weights": {name: each for name, each in self.attribute_weights.items() if name in masked},
            "method": self.method,
            "budget": self.budget.strip() or None,
            "missing": self.missing,
            "blocks": self.blocks or None,
            "strata": self.strata or None,
            "small_strata": self.small_strata,
            "weights": self.weights or None,
            "l": self.l,
            "t": self.t,
            "edits": self.edits_file or [line.strip() for line in self.edits.splitlines() if line.strip()] or None,
            "edits_original": self.edits_original,
            "round": self.round,
        }
        usual = {name: each.default for name, each in Plan.model_fields.items()}
        return {name: value for name, value in given.items() if value != usual[name]}

    def _changed(self, name: str, used: set[str]) -> bool:
        return name in used and self.types[name] != self.inferred[name]
