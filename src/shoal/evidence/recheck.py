"""A release found on disk, years later: is it still what its manifest says?

Everything is counted again in the file. What needed the original to be verified cannot be verified again, and is named.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from shoal.errors import FileError, ShoalError
from shoal.evidence.contradictions import contradictions
from shoal.evidence.units import counted_units, too_few
from shoal.kernels.l_diversity import FORMS
from shoal.messages import Message
from shoal.pipeline.classes import class_sizes, classes, equal_values
from shoal.pipeline.counting import added_sizes
from shoal.pipeline.manifest import Block, Diverse, Manifest, Part, Published, counted_block, measured, sha256_of
from shoal.pipeline.sensitive import confidential_codes
from shoal.pipeline.verify import too_small, undiverse
from shoal.plan import Csv
from shoal.tables import Table, kind_of, open_table
from shoal.tables.atomic import no_such_file
from shoal.tables.csv.formulas import unquoted

_SPARK = pa.csv.ParseOptions(newlines_in_values=True)  # how Spark writes CSV files
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Recheck:
    """What was found in a file that has a manifest.

    Attributes
    ----------
    table
        The file, if it could be read.
    blocks
        The attributes of each block, with how many groups there are and their sizes.
    failures
        Every difference to the manifest.
    unverified
        What was verified once, and cannot be again.
    units
        The different pseudonyms in the groups of each block, as in `shoal.pipeline.units.units_in_groups`.
    """

    table: Table | None
    blocks: list[dict[str, Any]] = field(default_factory=list)
    failures: list[Message] = field(default_factory=list)
    unverified: list[Message] = field(default_factory=list)
    units: list[dict[str, Any]] = field(default_factory=list)


def recheck(path: Path, manifest: Manifest, csv: Csv | None = None, sheet: str | None = None) -> Recheck:
    """Compare a published file, or a folder of files, with its manifest.

    Parameters
    ----------
    path
        The file; whatever its name is now.
    manifest
        What it must be.
    csv
        How a CSV file is written, if it is not as the manifest says.
    sheet
        The sheet of a workbook, if several have data.
    """
    failures: list[Message] = [*contradictions(manifest)]
    failures += _other_bytes(path, manifest.published)
    try:
        table = _opened(path, manifest.published, csv, sheet)
    except ShoalError as error:
        if not failures:
            raise
        return Recheck(None, failures=[*failures, *error.messages])
    failures += _other_shape(table, manifest.published)
    blocks, units = [], []
    for block in manifest.verified.blocks:
        if gone := [name for name in block.attributes if name not in table.names]:
            failures.append(Message("block-not-countable", columns=gone))
            continue
        found = counted_block(table, block.attributes)
        blocks.append(found.model_dump(exclude={"diversity"}))
        failures += too_small(
            added_sizes(class_sizes(table, block.attributes)), block.attributes, manifest.verified.k or 0
        )
        failures += _other_counts(found, block)
        unit = _pseudonym(manifest, "unit")
        if manifest.verified.counts is None or unit in table.names:
            failures += _undiverse(table, block, unit)
        counted = _pseudonym(manifest, "household") or unit
        if counted is not None and counted in table.names:
            k = manifest.verified.k or 0
            sizes = counted_units(classes(table, block.attributes), classes(table, [counted]), k)
            units.append({"column": counted, "attributes": block.attributes, **sizes})
            if counted == unit or {*_listed(manifest, "household_attributes")} & {*block.attributes}:
                failures += too_few(table, block.attributes, counted, k)
    return Recheck(table, blocks, failures, [*_unverified(manifest)], units)


def _other_bytes(path: Path, published: Published) -> Iterator[Message]:
    if not path.exists():
        raise no_such_file(path)
    if published.parts is not None:
        yield from _other_parts(path, published.parts)
    elif path.is_dir():
        yield Message("kind-of-file-differs", file=str(path), files=None)
    else:
        yield from _other_file(path, None, published.bytes, str(published.sha256))


def _other_parts(path: Path, parts: list[Part]) -> Iterator[Message]:
    if not path.is_dir():
        yield Message("kind-of-file-differs", file=str(path), files=len(parts))
        return
    found, wanted = {file.name for file in _files(path)}, {part.name: part for part in parts}
    for name in sorted(wanted.keys() - found):
        yield Message("part-missing", part=name)
    for name in sorted(found - wanted.keys()):
        yield Message("part-not-in-manifest", part=name)
    for name in sorted(found & wanted.keys()):
        yield from _other_file(path / name, name, wanted[name].bytes, wanted[name].sha256)


def _files(folder: Path) -> list[Path]:
    """List the files of a folder that Spark reads."""
    return sorted(file for file in folder.iterdir() if file.name[0] not in "._")


def _other_file(path: Path, part: str | None, size: int, sha256: str) -> Iterator[Message]:
    if path.stat().st_size != size:
        yield Message("number-of-bytes-differs", part=part, found=path.stat().st_size, manifest=size)
    if sha256_of(path) != sha256:
        yield Message("hash-differs", part=part)


def _opened(path: Path, published: Published, csv: Csv | None, sheet: str | None) -> Table:
    if not path.is_dir():
        is_csv = kind_of(path) == "csv"
        return unquoted(open_table(path, (csv or published.csv) if is_csv else csv, sheet))
    read = _read_text if path.suffix.lower() == ".csv" else _read_parquet
    try:
        return unquoted(open_table(pa.concat_tables([read(file) for file in _files(path)])))
    except (pa.ArrowException, OSError):
        raise FileError("parts-not-readable", file=str(path)) from None


def _read_parquet(path: Path) -> pa.Table:
    with path.open("rb") as file:
        return pq.ParquetFile(file).read()


def _read_text(path: Path) -> pa.Table:
    """Read a CSV file as Spark writes it; every cell is text, which is all that counting needs."""
    with path.open("rb") as file:
        names = pa.csv.open_csv(file, parse_options=_SPARK).schema.names
    types = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return pa.csv.read_csv(path, parse_options=_SPARK, convert_options=types)


def _other_shape(table: Table, published: Published) -> Iterator[Message]:
    gone = [name for name in published.columns if name not in table.names]
    new = [name for name in table.names if name not in published.columns]
    if gone:
        yield Message("columns-missing", columns=gone)
    if new:
        yield Message("columns-not-in-manifest", columns=new)
    if not gone and not new and table.names != published.columns:
        yield Message("column-order-differs")
    if len(table) != published.records:
        yield Message("number-of-records-differs", records=len(table), expected=published.records, manifest=True)


def _other_counts(found: Block, said: Block) -> Iterator[Message]:
    columns = said.attributes
    if found.groups != said.groups:
        yield Message("number-of-groups-differs", columns=columns, found=found.groups, manifest=said.groups)
    for which in ("smallest", "largest"):
        size, claim = getattr(found, which), getattr(said, which)
        if size != claim:
            yield Message("group-size-differs", which=which, columns=columns, found=size, manifest=claim)


def _pseudonym(manifest: Manifest, of: str) -> str | None:
    """Return the column that tells units or households apart, if it is published."""
    name = manifest.plan.get(of)
    return str(name) if name is not None and manifest.plan.get(f"{of}_as") == "pseudonym" else None


def _listed(manifest: Manifest, role: str) -> list[str]:
    """List the columns that the plan names in a role of several."""
    names = manifest.plan.get(role)
    return [str(name) for name in names] if isinstance(names, list) else []


def _undiverse(table: Table, block: Block, unit: str | None) -> Iterator[Message]:
    """Yield the confidential attributes that groups give away more of than promised, or than the manifest says."""
    alike = classes(table, block.attributes) if block.diversity else None
    for said in block.diversity:
        if alike is None or said.attribute not in table.names:
            yield Message("diversity-not-measurable", column=said.attribute)
            continue
        codes, missing, _ = confidential_codes(table, said.attribute)
        found = measured(said, alike, codes, missing, None if unit is None else equal_values(table, unit))
        least, claims = found.model_dump(include={*FORMS}), said.model_dump(include={*FORMS}, exclude_none=True)
        failures = [*undiverse(said.attribute, least, said.l, said.l_form)]
        for form, claim in claims.items():
            if not failures and abs(least[form] - claim) > _ROUNDING:
                of = {"column": said.attribute, "form": form}
                failures.append(Message("l-differs", **of, least=least[form], manifest=claim))
        yield from failures
        yield from _unlike(found, said)


def _unlike(found: Diverse, said: Diverse) -> Iterator[Message]:
    distance = found.closeness
    if said.order == "levels" or distance is None:
        return  # whose order is in no manifest
    if said.t is not None and distance > said.t:
        yield Message("t-not-kept", column=said.attribute, distance=distance, t=said.t)
    elif said.closeness is not None and abs(distance - said.closeness) > _ROUNDING:
        yield Message("t-differs", column=said.attribute, distance=distance, manifest=said.closeness)


def _unverified(manifest: Manifest) -> Iterator[Message]:
    """List what was verified before the file was published, and cannot be without the original."""
    verified, plan = manifest.verified, manifest.plan
    yield Message("again-original")
    if {*manifest.published.columns} - {*_listed(manifest, "quasi")}:
        yield Message("again-determined")
    if dropped := _listed(manifest, "identifiers"):
        yield Message("again-dropped", columns=dropped, number=len(dropped))
    if verified.counts is not None and _pseudonym(manifest, "unit") is None:
        yield Message("again-units")
    if plan.get("household") is not None and _pseudonym(manifest, "household") is None:
        yield Message("again-households")
    if verified.k is None:
        yield Message("again-no-groups")
    if plan.get("epsilon") is not None:
        yield Message("again-epsilon")
    if verified.weighted_totals:
        yield Message("again-totals")
    if verified.dominance:
        yield Message("again-dominance")
    if verified.domain_totals:
        yield Message("again-totals", domains=True)
    for said in (said for block in verified.blocks for said in block.diversity):
        if said.t is not None and said.order == "levels":
            yield Message("again-distances", column=said.attribute)
