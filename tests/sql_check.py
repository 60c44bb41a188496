"""The promise of k, counted anew in plain SQL over every file that a test run publishes; nothing of shoal plays a part.

A file is published when it gets its name, beside its plan. In this process that moment is seen, so that what a test
does to the file afterwards does not matter; what other processes published is found at the end, by its plan.
"""

import csv
import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

PLAN = ".plan.toml"


@dataclass
class Tally:
    """What was found: how many files, how many that promise no groups, and those that break the promise."""

    checked: int = 0
    smallest: int | None = None  # group of all, and the least k asked for
    least_k: int | None = None
    no_promise: int = 0
    changed: int = 0  # by a test, after they were published by another process
    below: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def add(self, other: dict[str, Any]) -> None:
        """Add what another process found."""
        self.checked += other["checked"]
        for name in ("smallest", "least_k"):
            found = [each for each in (getattr(self, name), other[name]) if each is not None]
            setattr(self, name, min(found, default=None))
        self.no_promise += other["no_promise"]
        self.changed += other["changed"]
        self.below += other["below"]
        self.unread += other["unread"]

    @property
    def line(self) -> str:
        """Return it in one line."""
        found = f"SQL k check: {self.checked} published files"
        if self.checked:
            found += f", smallest group {self.smallest} (least k {self.least_k}), {len(self.below)} below k"
        return f"{found}; {self.no_promise} promise no k, {self.changed} changed by a test, {len(self.unread)} unread"


class Watch:
    """Sees files get their names, and checks those that have a plan beside them."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._seen: set[bytes] = set()
        self._busy = False

    def start(self) -> None:
        """Begin; an audit hook stays for as long as the process lives."""
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in ("os.rename", "os.link") or self._busy:
            return
        written, path = (Path(os.fsdecode(each)) for each in args[:2])
        if not path.name.endswith(PLAN) and _beside(path).exists() and written.is_file():
            self._busy = True
            try:
                self._check(written, path)
            finally:
                self._busy = False

    def _check(self, written: Path, path: Path) -> None:
        try:
            plan = _beside(path).read_bytes()
            own = hashlib.sha256(plan + _digest(written)).digest()
            if own not in self._seen:
                self._seen.add(own)
                self._count(written, path, tomllib.loads(plan.decode()))
        except Exception as error:  # whatever a reader says: a file that is not read is not checked, and is told
            self.tally.unread.append(f"{path}: {type(error).__name__}: {str(error)[:200]}")

    def look_through(self, folder: Path) -> None:
        """Check what other processes published in a folder, unless a test changed it since."""
        for beside in sorted(folder.rglob(f"*{PLAN}")):
            path = beside.with_name(beside.name.removesuffix(PLAN))
            if not path.exists() or hashlib.sha256(beside.read_bytes() + _digest(path)).digest() in self._seen:
                continue
            if _as_published(path):
                self._check(path, path)
            else:
                self.tally.changed += 1

    def _count(self, written: Path, path: Path, plan: dict[str, Any]) -> None:
        promised = list(_promised(plan))
        if not promised:
            self.tally.no_promise += 1
            return
        found = min(smallest_group(written, path, names) for names in promised)
        one = {"checked": 1, "smallest": found, "least_k": plan["k"], "no_promise": 0, "changed": 0}
        below = [f"{path}: smallest group {found}, k = {plan['k']}"] if found < plan["k"] else []
        self.tally.add({**one, "below": below, "unread": []})

    @property
    def found(self) -> dict[str, Any]:
        """What was found, to be sent to another process."""
        return asdict(self.tally)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + PLAN)


def _parts(path: Path) -> list[Path]:
    """Return the files of a release, which Spark writes as a folder."""
    return sorted(each for each in path.iterdir() if each.name[0] not in "._") if path.is_dir() else [path]


def _digest(path: Path) -> bytes:
    return b"".join(hashlib.sha256(part.read_bytes()).digest() for part in _parts(path))


def _manifest(path: Path) -> dict[str, Any]:
    return json.loads(path.with_name(f"{path.name}.manifest.json").read_text())["published"]


def _as_published(path: Path) -> bool:
    """Compare a file with the hash in its manifest, which a test may have changed as well."""
    try:
        published = _manifest(path)
        hashes = [published["sha256"]] if published.get("sha256") else [part["sha256"] for part in published["parts"]]
        return bytes.fromhex("".join(hashes)) == _digest(path)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def _promised(plan: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the attributes of which every combination must occur k times."""
    if plan["method"] in ("mic1d", "ms") or (plan["method"] == "hybrid" and not plan.get("mask_quasi")):
        return
    strata = plan.get("strata", []) if plan.get("small_strata") != "merge" else []
    shared = plan.get("household_attributes", [])
    homes = [block for block in (shared, [name for name in plan.get("quasi", []) if name not in shared]) if block]
    for block in plan.get("blocks") or homes:
        yield [*block, *strata]


def smallest_group(written: Path, path: Path, names: list[str]) -> int:
    """Count the records of the smallest group in a file; `path` is its final name, which says of which kind it is."""
    with duckdb.connect() as database:
        columns, source = _source(database, written, path)
        keys = ", ".join(f"c{columns.index(name)}" for name in names)
        query = f"SELECT min(c) FROM (SELECT count(*) AS c FROM {source} GROUP BY {keys})"
        return database.execute(query).fetchone()[0]


def _source(database: duckdb.DuckDBPyConnection, written: Path, path: Path) -> tuple[list[str], str]:
    """Return the columns of a file, and what stands for its records in SQL, where they are c0, c1 and so on."""
    kind = path.suffix.lower()
    if kind in (".csv", ".tsv", ".txt"):
        return _csv(written, path)
    if kind == ".parquet":
        files = [str(part) for part in _parts(written)]
        columns = [row[0] for row in database.execute("DESCRIBE SELECT * FROM read_parquet($1)", [files]).fetchall()]
        return columns, f"read_parquet({files!r}) AS t({_numbered(columns)})"
    records = _READERS[kind](written)
    numbered = records.rename_columns([f"c{at}" for at in range(records.num_columns)])
    database.register("records", numbered)
    return records.column_names, "records"


def _numbered(columns: list[str]) -> str:
    return ", ".join(f"c{at}" for at in range(len(columns)))


def _csv(written: Path, path: Path) -> tuple[list[str], str]:
    """Take cells as the texts that they are."""
    how = _manifest(path)["csv"]
    delimiter, quote = how["delimiter"], how["quote"]
    files = _parts(written)
    with files[0].open(encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file, delimiter=delimiter, quotechar=quote))
    types = {f"c{at}": "VARCHAR" for at in range(len(columns))}

    def text(value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    options = f"delim={text(delimiter)}, quote={text(quote)}, escape={text(quote)}, header=true, auto_detect=false"
    listed = ", ".join(text(str(file)) for file in files)
    return columns, f"read_csv([{listed}], columns={types!r}, {options})"


def _texts(names: list[str], columns: Iterable[Iterable[Any]]) -> pa.Table:
    cells = [[None if cell is None else repr(cell) for cell in column] for column in columns]
    return pa.table([pa.array(column, pa.string()) for column in cells], names=names)


def _arrow(path: Path) -> pa.Table:
    table = pa.ipc.open_file(path).read_all()
    return _texts(table.column_names, (column.to_pylist() for column in table.columns))


def _statistics(path: Path) -> pa.Table:
    import pyreadstat

    read = {".sav": "sav", ".zsav": "sav", ".por": "por", ".dta": "dta", ".xpt": "xport"}[path.suffix.lower()]
    more = {} if read in ("por", "xport") else {"user_missing": True}
    columns, _ = getattr(pyreadstat, f"read_{read}")(str(path), output_format="dict", **more)
    return _texts(list(columns), columns.values())


def _excel(path: Path) -> pa.Table:
    import openpyxl

    rows = openpyxl.load_workbook(path, read_only=True).worksheets[0].iter_rows(values_only=True)
    columns = list(zip_longest(*rows))  # a row ends with its last cell that is not empty
    return _texts([str(column[0]) for column in columns], (column[1:] for column in columns))


def _xml(path: Path) -> pa.Table:
    from lxml import etree

    records = [{cell.tag: cell.text for cell in record} for record in etree.parse(path).getroot().iterchildren("*")]
    names = list(dict.fromkeys(name for record in records for name in record))
    return _texts(names, ([record.get(name) for record in records] for name in names))


_READERS = {
    **dict.fromkeys([".arrow", ".feather", ".ipc"], _arrow),
    **dict.fromkeys([".sav", ".zsav", ".por", ".dta", ".xpt"], _statistics),
    **{".xlsx": _excel, ".xml": _xml},
}
