"""Values that nobody could mistake, planted where they must never leave: in identifiers, secrets and outliers."""

from pathlib import Path

import numpy as np
import pyarrow as pa

IDENTIFIER = "Zyzzyva-Quokka"
SECRET_TEXT = "Xylographer"
SECRET_NUMBER = 918273645
OUTLIER = 736455463
MARKS = tuple(str(mark) for mark in (IDENTIFIER, SECRET_TEXT, SECRET_NUMBER, OUTLIER))
QUASI = ["age", "income"]
CONFIDENTIAL = ["illness", "debt"]


def planted_table(records: int = 200) -> pa.Table:
    """A table of people with marks in it: a name, an illness and a debt, and an income unlike any other."""
    rng = np.random.default_rng(5)
    names = [f"person {row}" for row in range(records)]
    illness = rng.choice(["flu", "gout", "none"], records).astype(object)
    debt, income = rng.integers(0, 1000, records), rng.integers(1000, 2000, records)
    names[17], illness[23], debt[42], income[77] = IDENTIFIER, SECRET_TEXT, SECRET_NUMBER, OUTLIER
    return pa.table(
        {"name": names, "age": rng.integers(18, 90, records), "income": income, "illness": illness, "debt": debt}
    )


def found_in(text: str | bytes) -> list[str]:
    """Name the marks that are in a text, written in whichever way."""
    text = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    spelled = text.replace(",", "").replace("\u202f", "").replace("_", "")
    return [mark for mark in MARKS if mark in text or mark in spelled]


def found_under(folder: Path, but: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Search every file of a folder; `but` names those in which marks may be."""
    return {
        str(path): marks
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in but and (marks := found_in(path.read_bytes()))
    }
