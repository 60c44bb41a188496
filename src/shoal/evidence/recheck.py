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
from shoal.evidence.units import too_few
from shoal.kernels.l_diversity import FORMS
from shoal.pipeline.classes import class_sizes, classes
from shoal.pipeline.counting import added_sizes
from shoal.pipeline.manifest import Block, Diverse, Manifest, Part, Published, counted_block, measured, sha256_of
from shoal.pipeline.sensitive import confidential_codes
from shoal.pipeline.verify import too_small, undiverse
from shoal.plan import Csv
from shoal.tables import Table, kind_of, open_table
from shoal.tables.atomic import no_such_file
from shoal.tables.csv.formulas import unquoted
from shoal.text import counted, listed

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
    """

    table: Table | None
    blocks: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)


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
    failures = [*contradictions(manifest), *_other_bytes(path, manifest.published)]
    try:
        table = _opened(path, manifest.published, csv, sheet)
    except ShoalError as error:
        if not failures:
            raise
        return Recheck(None, failures=[*failures, *error.sentences])
    failures += _other_shape(table, manifest.published)
    blocks = []
    for block in manifest.verified.blocks:
        if gone := [name for name in block.attributes if name not in table.names]:
            failures.append(f"k cannot be counted without {listed(gone)}")
            continue
        found = counted_block(table, block.attributes)
        blocks.append(found.model_dump(exclude={"diversity"}))
        failures += too_small(
            added_sizes(class_sizes(table, block.attributes)), block.attributes, manifest.verified.k or 0
        )
        failures += _other_counts(found, block)
        unit = _pseudonym(manifest)
        if manifest.verified.counts is None or unit in table.names:
            failures += _undiverse(table, block, unit)
        if unit in table.names:
            failures += too_few(table, block.attributes, str(unit), manifest.verified.k or 0)
    return Recheck(table, blocks, failures, [*_unverified(manifest)])


def _other_bytes(path: Path, published: Published) -> Iterator[str]:
    if not path.exists():
        raise no_such_file(path)
    if published.parts is not None:
        yield from _other_parts(path, published.parts)
    elif path.is_dir():
        yield f"'{path}' is a folder, and the manifest is of one file"
    else:
        yield from _other_file(path, "the file", published.bytes, str(published.sha256))


def _other_parts(path: Path, parts: list[Part]) -> Iterator[str]:
    if not path.is_dir():
        yield f"'{path}' is one file, and the manifest is of a folder of {counted(len(parts), 'file')}"
        return
    found, wanted = {file.name for file in _files(path)}, {part.name: part for part in parts}
    for name in sorted(wanted.keys() - found):
        yield f"the file '{name}' of the folder is missing"
    for name in sorted(found - wanted.keys()):
        yield f"the file '{name}' of the folder is not in the manifest"
    for name in sorted(found & wanted.keys()):
        yield from _other_file(path / name, f"the file '{name}'", wanted[name].bytes, wanted[name].sha256)


def _files(folder: Path) -> list[Path]:
    """List the files of a folder that Spark reads."""
    return sorted(file for file in folder.iterdir() if file.name[0] not in "._")


def _other_file(path: Path, what: str, size: int, sha256: str) -> Iterator[str]:
    if path.stat().st_size != size:
        yield f"{what} has {path.stat().st_size:,} bytes instead of {size:,} in the manifest"
    if sha256_of(path) != sha256:
        yield f"{what} is not the one that was published: its SHA-256 differs from the manifest"


def _opened(path: Path, published: Published, csv: Csv | None, sheet: str | None) -> Table:
    if not path.is_dir():
        is_csv = kind_of(path) == "csv"
        return unquoted(open_table(path, (csv or published.csv) if is_csv else csv, sheet))
    read = _read_text if path.suffix.lower() == ".csv" else _read_parquet
    try:
        return unquoted(open_table(pa.concat_tables([read(file) for file in _files(path)])))
    except (pa.ArrowException, OSError):
        raise FileError(
            f"the files in '{path}' cannot be read together: one is damaged, or in another format"
        ) from None


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


def _other_shape(table: Table, published: Published) -> Iterator[str]:
    gone = [name for name in published.columns if name not in table.names]
    new = [name for name in table.names if name not in published.columns]
    if gone:
        yield f"columns of the manifest are missing: {listed(gone)}"
    if new:
        yield f"columns are not in the manifest: {listed(new)}"
    if not gone and not new and table.names != published.columns:
        yield "the columns are in another order than in the manifest"
    if len(table) != published.records:
        yield f"there are {counted(len(table), 'record')} instead of {published.records:,} in the manifest"


def _other_counts(found: Block, said: Block) -> Iterator[str]:
    for what in ("groups", "smallest", "largest"):
        count, claim = getattr(found, what), getattr(said, what)
        if count != claim:
            noun = "the number of groups" if what == "groups" else f"the size of the {what} group"
            yield f"{noun} by {listed(said.attributes)} is {count:,} instead of {claim:,} in the manifest"


def _pseudonym(manifest: Manifest) -> str | None:
    """Return the column that tells units apart, if it is published."""
    unit = manifest.plan.get("unit")
    return str(unit) if unit is not None and manifest.plan.get("unit_as") == "pseudonym" else None


def _undiverse(table: Table, block: Block, unit: str | None) -> Iterator[str]:
    """Yield the confidential attributes that groups give away more of than promised, or than the manifest says."""
    alike = classes(table, block.attributes) if block.diversity else None
    for said in block.diversity:
        if alike is None or said.attribute not in table.names:
            yield f"diversity cannot be measured without '{said.attribute}'"
            continue
        codes, missing, _ = confidential_codes(table, said.attribute)
        found = measured(said, alike, codes, missing, None if unit is None else classes(table, [unit]))
        least, claims = found.model_dump(include={*FORMS}), said.model_dump(include={*FORMS}, exclude_none=True)
        failures = [*undiverse(said.attribute, least, said.l, said.l_form)]
        for form, claim in claims.items():
            if not failures and abs(least[form] - claim) > _ROUNDING:
                what = f"{form} l = {least[form]:.6g} in some group, where the manifest says {claim:.6g}"
                failures.append(f"'{said.attribute}' has {what}")
        yield from failures
        yield from _unlike(found, said)


def _unlike(found: Diverse, said: Diverse) -> Iterator[str]:
    if said.order == "levels":
        return  # whose order is in no manifest
    if said.t is not None and found.closeness > said.t:
        what = f"{found.closeness:.4f} from its distribution in some group, where t = {said.t} was promised"
        yield f"'{said.attribute}' is {what}"
    elif abs(found.closeness - said.closeness) > _ROUNDING:
        what = f"{found.closeness:.4f} from its distribution in some group, and {said.closeness:.4f} in the manifest"
        yield f"'{said.attribute}' is {what}"


def _unverified(manifest: Manifest) -> Iterator[str]:
    """List what was verified before the file was published, and cannot be without the original."""
    verified = manifest.verified
    yield "that the masked values were computed from the original, and the other columns are unchanged"
    if verified.counts is not None and _pseudonym(manifest) is None:
        yield "that every group has records of k units, and l and t if they were promised: the unit is not in the file"
    if verified.k is None:
        yield "what the method promises: it forms no groups that the file would show"
    if manifest.plan.get("epsilon") is not None:
        yield "differential privacy: it is a promise on how the file was made and does not show in it"
    if verified.weighted_totals:
        yield "that groups keep their weighted totals"
    if verified.dominance:
        yield "that no contributor dominates a group"
    if verified.domain_totals:
        yield "that domains keep their totals"
    for said in (said for block in verified.blocks for said in block.diversity):
        if said.t is not None and said.order == "levels":
            yield f"t-closeness in '{said.attribute}': a manifest does not hold its levels"
