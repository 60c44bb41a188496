"""What was chosen on the page, and the plan that it makes: nothing that a plan could not contain."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from shoal.app.fields import Field, as_list, as_text, fields_of, nested, values_of
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan import AttributeType, Plan
from shoal.plan.commands import file_name
from shoal.plan.fields import GROUPS

# By role, the field of the plan and its name on the page.
ROLES = {
    "quasi": "quasi-identifier (masked)",
    "confidential": "sensitive",
    "identifier": "identifier (dropped)",
    "weights": "survey weight",
    "strata": "stratum",
    "unit": "unit (k counts these)",
    "household": "household number",
    "publish": "released unchanged",
}
NO_ROLE = "choose a role"
ROLE_FIELDS = {role: "identifiers" if role == "identifier" else role for role in ROLES}
_ALONE = ("weights", "unit", "household")  # roles that one attribute may have
TYPES: tuple[AttributeType, ...] = get_args(AttributeType)
METHODS = {
    "auto": "auto: chosen for you",
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
    "mic1d": "mic1d: each attribute by itself, no groups of records",
    "hybrid": "hybrid: new sensitive values that keep means and covariances",
    "ms": "ms: new sensitive values that keep a share of the original",
    "insensitive": "insensitive: differential privacy (epsilon)",
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

# Where the fields of the plan are on the page. A field that is named here nowhere is in the third step, in its group.
Step = Literal["file", "attributes", "protection"]
ON_COLUMNS = (*ROLE_FIELDS.values(), "types", "levels", "missing_codes", "attribute_weights")
IN_FRONT = ("k", "method", "missing", "l")  # what most people need
_NAMED = 5  # attributes that a message names
ELSEWHERE = ("scale.master",)  # not on the page, whose users must not send its files to other machines
APART = ("output", "edits")  # drawn by the third step itself: the kind of file to write, and rules or their file


def step_of(name: str) -> Step:
    """Return the step of the page that has a field of the plan."""
    if name in ON_COLUMNS:
        return "attributes"
    return "file" if name in ("input", "sheet") or name.startswith("csv.") else "protection"


def panels() -> dict[str, list[Field]]:
    """Return the fields of the third step that few need, by group as in ``--help``."""
    found: dict[str, list[Field]] = {group: [] for group in GROUPS}
    for name, each in fields_of(Plan).items():
        if step_of(name) == "protection" and name not in (*IN_FRONT, *APART, *ELSEWHERE):
            here = tuple(choice for choice in each.choices if name != "engine" or choice != "spark")
            found[each.group].append(replace(each, choices=here))
    return {group: fields for group, fields in found.items() if fields or group == "rules"}


def refuse_spark(plan: Plan) -> None:
    """Refuse a plan that uses Spark: users of the page could send originals to any cluster.

    Raises
    ------
    PlanError
        The plan does.
    """
    if plan.engine == "spark" or (plan.scale is not None and plan.scale.master is not None):
        raise PlanError("page-without-spark", field="engine", command="shoal protect --engine spark")


@dataclass
class Choices:
    """The state of the form.

    Attributes
    ----------
    roles, types
        Of attributes. A type is left out of the plan if it is what the file says; "" leaves it to the file.
    inferred
        What the file says of the types; nothing where it was guessed.
    levels, known_levels
        Of ordinal attributes: as typed, and as their words tell. These are values of the data.
    attribute_weights, missing_codes
        Of attributes; codes with commas between them.
    values
        All other fields of the plan, by their names.
    edits_file, policy_file
        The file that has the rules, and the one that has the limits of an office.
    edits_wanted
        The name of a file of rules that the plan needs and that was not uploaded yet.
    ending
        The kind of file to write.
    """

    roles: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    inferred: dict[str, str] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    known_levels: dict[str, list[str]] = field(default_factory=dict)
    attribute_weights: dict[str, Any] = field(default_factory=dict)
    missing_codes: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=lambda: {"k": 5})
    edits_file: Path | None = None
    edits_wanted: str = ""
    policy_file: Path | None = None
    ending: str = "csv"

    @classmethod
    def of(cls, columns: list[dict[str, Any]], reading: dict[str, Any], ending: str) -> "Choices":
        """Begin with what is proposed for columns (`shoal.pipeline.roles.Proposal`), and how the file was read."""
        roles = {each["column"]: each["role"] for each in columns}
        codes = {
            each["column"]: [code for code in each["missing_codes"] if not isinstance(code, str)] for each in columns
        }
        gaps = [each["column"] for each in columns if each["missing"] or codes[each["column"]]]
        has_gaps = any(roles[name] == "quasi" for name in gaps)
        return cls(
            roles=roles,
            types={each["column"]: each["type"] for each in columns},
            missing_codes={name: as_text(each) for name, each in codes.items() if each},
            values={"k": 5} | ({"missing": "group"} if has_gaps else {}) | reading,
            **_known(columns, ending),
        )

    @classmethod
    def of_plan(cls, plan: Plan, columns: list[dict[str, Any]], ending: str) -> "Choices":
        """Begin with a plan that was made for these columns, or for others with the same names.

        Raises
        ------
        PlanError
            The plan names columns that are not there.
        """
        names = [each["column"] for each in columns]
        _refuse_unknown(plan, names)
        roles = {name: role for role, of in ROLE_FIELDS.items() for name in plan.roles[of]}
        by_default = not plan.masked and not plan.draws
        for each in columns:  # attributes keep the order of the plan, which a release may depend on
            rest = "publish" if plan.publish == "rest" else ""
            roles.setdefault(each["column"], "quasi" if by_default and each["numeric"] else rest)
        values = {name: value for name, value in values_of(plan).items() if step_of(name) != "attributes"}
        rules = values.pop("edits", None)
        for name in ("input", "output"):
            values.pop(name, None)
        known = _known(columns, Path(plan.output or f".{ending}").suffix.lstrip(".").lower() or ending)
        known["known_levels"] = {name: each for name, each in known["known_levels"].items() if name not in plan.types}
        return cls(
            roles=roles,
            types={name: plan.types.get(name, "") for name in names},
            levels={name: as_text(levels) for name, levels in plan.levels.items()},
            attribute_weights=dict(plan.attribute_weights),
            missing_codes={name: as_text(codes) for name, codes in plan.missing_codes.items()},
            values=values | ({"edits": rules} if isinstance(rules, list) else {}),
            edits_wanted=file_name(rules) if isinstance(rules, str) else "",
            **known,
        )

    @property
    def k(self) -> int:
        """The minimum group size; 0 if what was typed is not a number."""
        text = str(self.values.get("k", ""))
        return int(text) if re.fullmatch(r"\d{1,9}", text) else 0

    @k.setter
    def k(self, k: int) -> None:
        self.values["k"] = k

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is read, as far as it was set."""
        return {name: value for name, value in self.values.items() if step_of(name) == "file"}

    def having(self, role: str) -> list[str]:
        """Name the attributes of a role, in the order of the file or of the plan that was loaded."""
        return [name for name, each in self.roles.items() if each == role]

    def levels_of(self, name: str) -> list[str]:
        """Return the levels of an ordinal attribute that were typed, or else those that its words tell."""
        if self.types[name] != "ordinal" and (self.types[name] or name not in self.levels):
            return []
        typed = self.levels.get(name, "")
        return as_list(typed) if typed.strip() else list(self.known_levels.get(name, []))

    def uses(self, name: str) -> bool:
        """Whether the type of an attribute plays a part: it is masked, or sensitive and compared within groups."""
        compares = {"l", "t"} & {*self.values} or self.values.get("method") in ("hybrid", "ms")
        return self.roles[name] == "quasi" or (self.roles[name] == "confidential" and bool(compares))

    @property
    def has_rules(self) -> bool:
        """Whether there are rules."""
        return self.edits_file is not None or bool(self.values.get("edits")) or bool(self.edits_wanted)

    def options(self) -> dict[str, Any]:
        """Return the options of the plan; what is left at its default is not among them.

        Raises
        ------
        PlanError
            An attribute has no role, or several have one that only one can have.
        """
        problems = [*self._unclear()]
        if problems:
            raise PlanError(*problems)
        given = {name: value for name, value in self.values.items() if step_of(name) != "attributes"}
        if self.edits_file is not None:
            given["edits"] = str(self.edits_file)
        for role, name in ROLE_FIELDS.items():
            given[name] = self.having(role) if role not in _ALONE else next(iter(self.having(role)), None)
        given["strata"] = given["strata"] or None
        if self.values.get("method") in ("hybrid", "ms"):  # which may do without
            given["quasi"] = given["quasi"] or None
        given["types"] = {name: type_ for name, type_ in self.types.items() if self._changed(name)}
        ordered = [name for name in self.types if self.uses(name) or (self.has_rules and name in self.levels)]
        given["levels"] = {name: levels for name in ordered if (levels := self.levels_of(name))}
        given["attribute_weights"] = {
            name: each for name, each in self.attribute_weights.items() if self.roles[name] == "quasi"
        }
        given["missing_codes"] = {
            name: as_list(text)
            for name, text in self.missing_codes.items()
            if text.strip() and self.roles[name] in ("quasi", "confidential")
        }
        usual = {name: each.default for name, each in Plan.model_fields.items()}
        return {name: value for name, value in nested(given).items() if value != usual[name]}

    def _unclear(self) -> Iterator[Message]:
        """Yield what is wrong with the roles, and what is still missing."""
        if without := self.having(""):
            others = len(without) - _NAMED if len(without) > _NAMED + 1 else 0
            yield Message(
                "columns-without-role", columns=without[:_NAMED] if others else without, others=others, page=True
            )
        for role in _ALONE:
            if len(names := self.having(role)) > 1:
                yield Message("role-of-several", field=role, columns=names)
        if self.edits_wanted and self.edits_file is None:
            yield Message("rules-file-needed", field="edits", file=self.edits_wanted)

    def _changed(self, name: str) -> bool:
        return self.uses(name) and self.types[name] not in ("", self.inferred[name])


def _known(columns: list[dict[str, Any]], ending: str) -> dict[str, Any]:
    """Return what is known of a file, whatever is chosen."""
    return {
        "inferred": {each["column"]: "" if each["guessed"] else each["type"] for each in columns},
        "known_levels": {each["column"]: list(each["levels"]) for each in columns if each["levels"]},
        "ending": ending if ending in ENDINGS else "csv",
    }


def _refuse_unknown(plan: Plan, names: Sequence[str]) -> None:
    problems = [
        Message("unknown-column", field=of, column=name)
        for of, named in plan.roles.items()
        for name in named
        if name not in names
    ]
    if problems:
        raise PlanError(*problems)
