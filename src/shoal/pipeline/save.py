"""Writing a release: its file, read back and verified, with its plan and its manifest beside it."""

import os
from dataclasses import replace
from pathlib import Path

from shoal.errors import FileError
from shoal.pipeline.manifest import manifest_beside, manifest_of_file, refuse_manifest, verified_file
from shoal.pipeline.verify import Promise, verify_written
from shoal.plan import Plan
from shoal.tables import Dialect, Table, dialect_for, open_table, writable_kind, write_table
from shoal.tables.atomic import refuse_unwritable, written_together
from shoal.tables.dtypes import is_read_by_value, is_text
from shoal.tables.storage import STATISTICS, Kind, stored, stored_type, unkept


def save(published: Table, plan: Plan, promise: Promise, path: Path, overwrite: bool) -> list[str]:
    """Write what is published; a file under its final name is complete and verified, or does not exist.

    Parameters
    ----------
    published
        The protected table.
    plan, promise
        What was done, and what must hold in the file.
    path
        The file; its ending says of which kind.
    overwrite
        Whether files that exist already are replaced.

    Returns
    -------
    list of str
        What this kind of file cannot keep.
    """
    kind = writable_kind(path)
    refuse_output(plan.input, path, overwrite)
    files = [path, plan_beside(path), manifest_beside(path)]
    with written_together(files, overwrite) as (partial_path, partial_plan, partial_manifest):
        dialect = dialect_for(path, published.dialect)
        write_table(replace(published, dialect=dialect), partial_path, kind)
        written = _verified(partial_path, kind, dialect, published, promise)
        text = plan.updated(output=os.fspath(path)).to_toml(path.parent)
        partial_plan.write_text(text, encoding="utf-8")
        csv = dialect.as_csv() if kind == "csv" else None
        verified = verified_file(written, published, promise, plan)
        manifest = manifest_of_file(partial_path, path.name, written.names, len(written), csv, plan, verified)
        partial_manifest.write_text(manifest.to_json(), encoding="utf-8")
    return unkept(published.to_arrow(), kind)


def _verified(path: Path, kind: Kind, dialect: Dialect, published: Table, promise: Promise) -> Table:
    """Read a file that was just written, compare it with what it must hold, and return it."""
    written = open_table(path, dialect.as_csv() if kind == "csv" else None)
    held = Table(stored(published.to_arrow(), kind)) if kind in STATISTICS else published
    types = {name: stored_type(kind, type_) for name, type_ in promise.masked.items()}
    if kind in ("csv", "xml"):  # where text may look like something else, and is the same text all the same
        types = {name: type_ for name, type_ in types.items() if not is_text(type_)}
    if kind in ("csv", "xml", "excel"):
        types = {name: type_ for name, type_ in types.items() if not is_read_by_value(promise.masked[name])}
    verify_written(written, held, types, promise)
    return written


def plan_beside(path: Path) -> Path:
    """Name the plan file of a release: masked.csv has masked.csv.plan.toml."""
    return path.with_name(f"{path.name}.plan.toml")


def refuse_output(source: str | None, path: Path, overwrite: bool) -> None:
    """Say what stands in the way of writing a release to `path`, before any work is done."""
    writable_kind(path)
    refuse_unwritable(plan_beside(path), overwrite)
    if source is not None and path.exists() and Path(source).exists() and path.samefile(source):
        raise FileError(f"'{path}' is the file that is being protected; write the release to another")
    refuse_unwritable(path, overwrite)
    refuse_manifest(path, overwrite)
