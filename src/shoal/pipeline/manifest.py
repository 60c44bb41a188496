"""The manifest of a release: what was published, how, and what was verified, in a file that travels with it.

It is as public as the release itself. Every number in it can be computed again from the published file, but for the
plan without its secrets and the versions of the software. Counts of dropped columns and the columns from which
originals follow are for the keeper alone: see `Release.risk`. In particular there is no hash of the original: anyone
who guessed the original would see from it that the guess is right. No time is in it either: the same plan gives the
same manifest.
"""

import hashlib
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from shoal import __version__, measures
from shoal.errors import FileError
from shoal.kernels.l_diversity import FORMS, C
from shoal.kernels.types import Integers
from shoal.pipeline.classes import class_sizes
from shoal.pipeline.sensitive import Sensitive
from shoal.pipeline.verify import Promise
from shoal.pipeline.verify import Verified as Counted
from shoal.plan import Csv, Plan, Scale
from shoal.plan.options import public_fields
from shoal.tables import Table
from shoal.tables.atomic import read_small

_LARGEST = 20_000_000  # bytes of a manifest: a folder of a hundred thousand files has less
_KEPT_PRIVATE = ("units", "households", "determined")  # sections of version 1 that the file does not show
# The fields of a plan that are marked as public. Not the levels, which are values of the data, perhaps rare ones; nor
# the rules, whose constants may be; nor the seed; nor where files are and how the original was written.
PUBLIC = public_fields(Plan)

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Order = Literal["numbers", "levels", "none"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Part(_Part):
    """One of the files of a release that is a folder."""

    name: str
    sha256: Sha256
    bytes: Count


class Published(_Part):
    """The file that was published, or the folder of files."""

    name: str
    bytes: Count
    sha256: Sha256 | None = None
    parts: list[Part] | None = None
    records: Count
    columns: list[str]
    csv: Csv | None = None  # how a CSV file was written, to be read the same way again

    @model_validator(mode="after")
    def _one_or_parts(self) -> "Published":
        if (self.sha256 is None) == (self.parts is None):
            raise ValueError("must have a hash, or parts that have")
        return self


class Diverse(_Part):
    """What the groups give away of a confidential attribute, with what was promised of it.

    A measure is left out if the file does not show it: of dropped units, or by an order that the plan alone knows.
    """

    attribute: str
    order: Order  # what values are in order by: levels are in no manifest
    distinct: Count | None = None  # in the worst group
    entropy: float | None = None
    recursive: Count | None = None
    closeness: float | None = None  # of the worst group to the file
    l: int | float | None = None  # noqa: E741 - the literature's own name
    l_form: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = None
    t: float | None = None


class Block(_Part):
    """Attributes, strata among them, of which every combination occurs at least k times."""

    attributes: Annotated[list[str], Field(min_length=1)]
    groups: Count
    smallest: Count
    largest: Count
    diversity: list[Diverse] = []


class Rules(_Part):
    """How many rules the release obeys; `excused`, if groups with original records that broke one need not."""

    number: Count
    excused: bool


class Verified(_Part):
    """What was verified before the file was published; no k where the file shows no groups."""

    k: Annotated[int, Field(ge=2)] | None = None
    counts: Literal["units"] | None = None  # what k counts, and l and t with it; records if left out
    blocks: list[Block] = []
    rules: Rules | None = None
    weighted_totals: bool = False
    dominance: bool = False
    domain_totals: bool = False

    @model_validator(mode="after")
    def _blocks_have_k(self) -> "Verified":
        if self.blocks and self.k is None:
            raise ValueError("must state the k of the groups")
        return self


class Manifest(_Part):
    """The manifest of a release."""

    format: Literal["shoal release manifest"] = "shoal release manifest"
    version: Literal[1, 2] = 2
    published: Published
    plan: dict[str, JsonValue]
    versions: dict[str, str]
    verified: Verified

    @model_validator(mode="before")
    @classmethod
    def _without_private_sections(cls, found: Any) -> Any:
        """Leave out the sections of version 1 that are private now."""
        if isinstance(found, dict) and found.get("version") == 1 and isinstance(found.get("verified"), dict):
            kept = {name: each for name, each in found["verified"].items() if name not in _KEPT_PRIVATE}
            return {**found, "verified": kept}
        return found

    def to_json(self) -> str:
        """Write it as the text of a file: the same manifest gives the same text."""
        return json.dumps(self.model_dump(exclude_none=True), indent=2, ensure_ascii=False) + "\n"


def manifest_beside(path: Path) -> Path:
    """Name the manifest of a release: masked.csv has masked.csv.manifest.json."""
    return path.with_name(f"{path.name}.manifest.json")


def _named_in(content: bytes) -> str | None:
    """Find the name of the published file in a manifest of any version."""
    try:
        name = json.loads(content)["published"]["name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) and "\0" not in name and PurePath(name).name == name else None


def load_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Read a manifest.

    Raises
    ------
    FileError
        If the file cannot be read or is no manifest that this version knows.
    """
    path = Path(path)
    content = read_small(path, "manifest of a release", _LARGEST)
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        # What was found there is not shown: it may be anything.
        where = [".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False, include_url=False)]
        if "version" in where and _named_in(content) is not None:
            raise FileError("manifest-of-other-version", path=str(path)) from None
        raise FileError("not-a-manifest", path=str(path), entry=where[0][:80]) from None


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError("file-not-readable", path=str(path), reason=error.strerror or type(error).__name__) from None


def manifest_of_file(
    path: Path, name: str, columns: list[str], records: int, csv: Csv | None, plan: Plan, verified: Verified
) -> Manifest:
    """Make the manifest of a file that is complete.

    Parameters
    ----------
    path, name
        Where it lies now, and the name that it will have.
    columns, records
        What it holds.
    csv
        How it was written, if it is a CSV file.
    plan
        What was done.
    verified
        What was found in the file.
    """
    size, sha256 = path.stat().st_size, sha256_of(path)
    published = Published(name=name, bytes=size, sha256=sha256, records=records, columns=columns, csv=csv)
    return manifest_of(published, plan, verified)


def manifest_of(published: Published, plan: Plan, verified: Verified, **versions: str) -> Manifest:
    """Make a manifest; `versions` are those of software beside the usual."""
    return Manifest(published=published, plan=public_plan(plan), versions={**software(), **versions}, verified=verified)


def public_plan(plan: Plan) -> dict[str, JsonValue]:
    """Return what may be told of a plan, without what is empty."""
    options = {name: value for name, value in plan.options().items() if name in PUBLIC and value not in ([], {})}
    if cuts := {name: each for name, each in plan.recode.items() if isinstance(each, list)}:
        options["recode"] = cuts  # without old levels, which are values of the data
    if plan.scale is not None:
        options["scale"] = plan.scale.model_dump(include={*public_fields(Scale)}, exclude_none=True)
    return options


def software() -> dict[str, str]:
    """Name the software that a release depends on."""
    others = {name: version(name) for name in ("numpy", "pyarrow", "duckdb")}
    return {"shoal": __version__, "Python": platform.python_version(), **others}


def verified_of(promise: Promise, found: Counted) -> Verified:
    """Gather what was verified, as it was counted in what is published."""
    plan = promise.plan
    promised = plan.model_dump(include={"l", "l_form", "c", "t"})
    shown = plan.unit is None or plan.pseudonym is not None
    diversity = [
        Diverse(
            attribute=each.name,
            order=(order := _order(each)),
            **(found.diversity[each.name] if shown else {}),
            closeness=found.closeness[each.name] if shown and order != "levels" else None,
            **promised,
        )
        for each in promise.sensitive
    ]
    blocks = [
        Block(
            attributes=[*block, *promise.strata],
            groups=sum(sizes.values()),
            smallest=min(sizes),
            largest=max(sizes),
            diversity=diversity,
        )
        for block, sizes in zip(promise.blocks, found.blocks, strict=True)
    ]
    rules = 0 if promise.edits is None else len(promise.edits.rules)
    return Verified(
        k=plan.k if blocks else None,
        counts=None if plan.unit is None else "units",
        blocks=blocks,
        rules=Rules(number=rules, excused=plan.edits_original == "keep") if rules else None,
        weighted_totals=plan.preserve is not None,
        dominance=bool(found.dominance),
        domain_totals=plan.keep_totals is not None,
    )


def _order(each: Sensitive) -> Order:
    """Return what the values of a sensitive attribute are in order by."""
    if not each.ordered:
        return "none"
    by_itself = each.levels is None and not each.is_ordinal
    return "numbers" if by_itself else "levels"


def counted_block(table: Table, names: list[str]) -> Block:
    """Count the records that share each combination of values."""
    sizes = class_sizes(table, names)
    smallest, largest = int(sizes.min()), int(sizes.max())
    return Block(attributes=names, groups=len(sizes), smallest=smallest, largest=largest)


def measured(
    said: Diverse, alike: Integers, codes: Integers, missing: NDArray[np.bool_], units: Integers | None = None
) -> Diverse:
    """Measure again what groups of records that are published alike give away of an attribute.

    With units, each counts once for every value that it has in a group, and in the file.
    """
    whole = np.bincount(codes)
    if units is not None:
        pairs = np.unique(np.stack([codes, units]), axis=1)
        _, once = np.unique(np.stack([alike, codes, units]), axis=1, return_index=True)
        whole, alike, codes, missing = np.bincount(pairs[0]), alike[once], codes[once], missing[once]
    found = measures.l_diversity(alike, codes, missing, said.c or C)
    closeness = measures.closeness_to(alike, codes, whole, ordered=said.order != "none")
    return said.model_copy(update={**{form: found[form] for form in FORMS}, "closeness": closeness})
