"""Writing a release: its file, read back and verified, with its plan and its manifest beside it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from shoal.errors import CheckFailed, FileError, PlanError
from shoal.messages import Message
from shoal.pipeline.classes import class_sizes
from shoal.pipeline.counting import added_sizes
from shoal.pipeline.manifest import manifest_beside, manifest_of_file, verified_of
from shoal.pipeline.notes import on_formulas
from shoal.pipeline.verify import Promise, Verified, too_small
from shoal.plan import Plan
from shoal.plan.asking import AnyPath
from shoal.tables import Dialect, Table, dialect_for, open_table, writable_kind, write_table
from shoal.tables.atomic import refuse_unwritable, written_together
from shoal.tables.csv.formulas import formulas_in, unquoted
from shoal.tables.dtypes import is_read_by_value, is_text, same_type
from shoal.tables.files import KINDS
from shoal.tables.levels import InUse
from shoal.tables.storage import STATISTICS, Kind, stored, stored_type, unkept


def save(published: Table, promise: Promise, counted: Verified, path: Path, overwrite: bool) -> list[Message]:
    """Write what is published; a file under its final name is complete and verified, or does not exist.

    Parameters
    ----------
    published
        The protected table.
    promise, counted
        What must hold in the file, and what was counted in the table.
    path
        The file; its ending says of which kind.
    overwrite
        Whether files that exist already are replaced.

    Returns
    -------
    list of Message
        What this kind of file cannot keep, and the formulas in it.
    """
    kind, plan = writable_kind(path), promise.plan
    refuse_output(plan.input, path, overwrite)
    files = [path, plan_beside(path), manifest_beside(path)]
    with written_together(files, overwrite) as (partial_path, partial_plan, partial_manifest):
        dialect = dialect_for(path, published.dialect, plan.quote_formulas)
        write_table(replace(published, dialect=dialect), partial_path, kind)
        written = _verified(partial_path, kind, dialect, published, promise)
        text = plan.decided(output=os.path.abspath(path)).to_toml(path.parent)  # noqa: PTH100 - keeps links
        partial_plan.write_text(text, encoding="utf-8")
        csv = dialect.as_csv() if kind == "csv" else None
        verified = verified_of(promise, counted)
        manifest = manifest_of_file(partial_path, path.name, written.names, len(written), csv, plan, verified)
        partial_manifest.write_text(manifest.to_json(), encoding="utf-8")
    arrow = published.to_arrow()
    found = on_formulas(formulas_in(arrow, dialect), arrow.column_names, plan) if kind == "csv" else []
    return [*found, *unkept(arrow, kind)]


def _verified(path: Path, kind: Kind, dialect: Dialect, published: Table, promise: Promise) -> Table:
    """Read a file that was just written, compare it with what it must hold, and return it."""
    written = open_table(path, dialect.as_csv() if kind == "csv" else None)
    if kind == "csv" and dialect.quotes_formulas:
        written = unquoted(written)
    held = Table(stored(published.to_arrow(), kind)) if kind in STATISTICS else published
    masked = {attribute.name: published.column(attribute.name).type for attribute in promise.attributes}
    types = {name: stored_type(kind, type_) for name, type_ in masked.items()}
    if kind in ("csv", "xml"):  # where text may look like something else, and is the same text all the same
        types = {name: type_ for name, type_ in types.items() if not is_text(type_)}
    if kind in ("csv", "xml", "excel"):
        types = {name: type_ for name, type_ in types.items() if not is_read_by_value(masked[name])}
    in_use = InUse()
    in_use.see(written.to_arrow())
    failures = [*_other(written, held), *wrong_types(written, types), *in_use.failures()]
    for block in promise.blocks if written.names == held.names else []:
        names = [*block, *promise.strata]
        failures += too_small(added_sizes(class_sizes(written, names)), names, promise.plan.k)
    if promise.edits is not None and not failures:
        failures += promise.edits.failures(promise.edits.disobeyed(written, 0)[0])
    if failures:
        raise CheckFailed(failures)
    return written


def _other(written: Table, published: Table) -> Iterator[Message]:
    """Yield what a file holds that is not what was to be written."""
    if written.names != published.names or len(written) != len(published):
        yield Message("not-as-released")
        return
    for name in published.names:
        if not written.same_column(published, name):
            yield Message("not-as-released", column=name)


def wrong_types(published: Table, types: Mapping[str, pa.DataType]) -> Iterator[Message]:
    """Yield the columns that are of another type than promised."""
    for name, kind in types.items():
        if name not in published.names:
            continue
        column = published.column(name)
        if column.null_count < len(column) and not same_type(column.type, kind):
            yield Message("wrong-type", column=name, type=str(column.type), promised=str(kind))


def plan_beside(path: Path) -> Path:
    """Name the plan file of a release: masked.csv has masked.csv.plan.toml."""
    return path.with_name(f"{path.name}.plan.toml")


def refuse_quoting(plan: Plan, path: AnyPath) -> None:
    """Refuse apostrophes before formulas in anything but a CSV file."""
    if plan.quote_formulas and KINDS.get(Path(path).suffix.lower()) != "csv":
        raise PlanError("only-for-format", field="quote_formulas", format="CSV")


def refuse_output(source: str | None, path: Path, overwrite: bool) -> None:
    """Raise an error, before any work is done, if a release cannot be written to `path`."""
    writable_kind(path)
    refuse_unwritable(path, overwrite=True)
    if source is not None and path.exists() and Path(source).exists() and path.samefile(source):
        raise FileError("output-is-input", path=str(path), kind="file")
    refuse_unwritable(path, overwrite)
    refuse_unwritable(plan_beside(path), overwrite, path)
    refuse_unwritable(manifest_beside(path), overwrite, path)
