"""Files that are read: whatever they hold, a table comes out that can be protected and written, or a sentence."""

import functools
import io
import re
import tempfile
import zipfile
from pathlib import Path

from fuzz import seeds
from fuzz.oracle import SECRET, SECRET_NUMBER, file_of, refuse_leftovers, sentence_or
from shoal import protect
from shoal.tables import open_table

_SECRETS = re.compile(f"{SECRET}|{SECRET_NUMBER}".encode())


def read_csv(data: bytes) -> None:
    """Read a CSV file; the header is a name and may be in messages."""
    header = data.lstrip(b"\r\n").splitlines()[:1] or [b""]
    open_quote = any(header[0].count(quote) % 2 for quote in (b'"', b"'"))
    _read(data, "in.csv", named=bool(_SECRETS.search(header[0])) or open_quote)


def read_xml(data: bytes) -> None:
    """Read XML microdata; what is within < and > are names."""
    _read(data, "in.xml", named=any(_SECRETS.search(tag) for tag in re.findall(rb"<[^>]*", data)))


def read_parquet(data: bytes) -> None:
    """Read a Parquet file."""
    _read(data, "in.parquet", named=data.count(SECRET.encode()) > 3)


def read_arrow(data: bytes) -> None:
    """Read an Arrow file or stream."""
    _read(data, "in.arrow", named=data.count(SECRET.encode()) > 3)


def read_excel(data: bytes) -> None:
    """Read a workbook; the first byte says which of its parts the others are, or that they are the whole file."""
    parts = _workbook()
    names = [*parts, None]
    name = names[data[0] % len(names)] if data else None
    if name is not None:
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive:
            for part, content in {**parts, name: data[1:]}.items():
                archive.writestr(part, content)
    _read(data[1:] if name is None else sink.getvalue(), "in.xlsx", named=True)


@functools.cache
def _workbook() -> dict[str, bytes]:
    return seeds.workbook()


def _read(data: bytes, name: str, *, named: bool) -> None:
    path = file_of(data, name)
    table = sentence_or(lambda: open_table(path), named=named)
    if table is not None:
        sentence_or(table.to_arrow, named=named)
        sentence_or(lambda: _published(path), named=named)
    refuse_leftovers(path)


def _published(path: Path) -> None:
    """Protect a file, and write what is published like it."""
    release = protect(path, k=2, publish="rest", missing="group", method="mdav")
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder, f"out{path.suffix}"))
