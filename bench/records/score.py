"""The lowest losses known on the three reference sets, counted again from their labels. See README.md beside it.

    python score.py                                            # recount all of them: a second
    python score.py --score labels.csv --set census -k 5
    python score.py --keep labels.csv --set census -k 5 --by "name, version"   # if it is lower
    python score.py --prove 60 --sets census -k 5              # prove bounds again, a minute each at most

It needs numpy alone, and nothing of Shoal but to prove bounds: z-scores, squared distances to the means of groups,
sizes and checksums. Ends with an error if anything is not as it is claimed, or if the data are not the reference sets.
"""

import argparse
import csv
import hashlib
import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
LIST = FOLDER / "records.json"
DATA = Path(os.environ.get("SHOAL_DATA", FOLDER.parents[2] / "shared" / "data"))
# The reference sets: the SHA-256 of their numbers as 64-bit floats, little-endian, record after record
SETS = {
    "census": "8cd4a46073869132d5e299ccd59258188ea64499b850d74a40565286927c9c51",
    "tarragona": "98c5774f42a775ba02182977623296c6caf5679b31414ad287b9097f2513e82f",
    "eia": "873e36dcb933b5e4ca063f7225b68d45e239621a0b61fcdbfa1509a53419f5d7",
}
DIGITS = 1e-6  # relative: records are written with nine digits


def numbers(name: str) -> np.ndarray:
    """Read a reference set: all columns, but of EIA only UTILITYID and those that end in REVENUE or SALES."""
    path = DATA / f"{name}.csv"
    if not path.exists():
        raise SystemExit(f"{path} is missing; SHOAL_DATA names the folder of the reference sets")
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    chosen = [j for j, each in enumerate(header) if name != "eia" or each.endswith(("UTILITYID", "REVENUE", "SALES"))]
    X = np.array([[float(row[j]) for j in chosen] for row in rows])
    if hashlib.sha256(X.astype("<f8").tobytes()).hexdigest() != SETS[name]:
        raise SystemExit(f"{path} is not the reference set: its numbers, or their order, differ")
    return X


def z_scores(name: str) -> np.ndarray:
    """Return a reference set, each attribute with mean 0 and variance 1 (ddof 0)."""
    X = numbers(name)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def squared_error(Z: np.ndarray, labels: np.ndarray) -> float:
    """Add up the squared distances of records to the means of their groups."""
    _, group, size = np.unique(labels, return_inverse=True, return_counts=True)
    return sum(float(((z - (np.bincount(group, z) / size)[group]) ** 2).sum()) for z in Z.T)


def read_labels(path: Path, records: int) -> np.ndarray:
    """Read one integer a line, with or without a line of a name before them."""
    lines = path.read_text(encoding="utf-8").split()
    lines = lines[1:] if len(lines) == records + 1 else lines
    if len(lines) != records:
        raise SystemExit(f"{path} has {len(lines)} labels for {records} records")
    return np.array([int(line) for line in lines])


def written(labels: np.ndarray) -> str:
    """Return labels as text, one a line; groups are numbered by their first record."""
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return "".join(f"{label}\n" for label in rank[places].tolist())


def listed() -> dict[str, Any]:
    """Return all records, by set and k."""
    found: dict[str, Any] = json.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}
    return found


def key(name: str, k: int) -> str:
    """Return under which name a record is listed."""
    return f"{name}-{k}"


def faults(name: str, k: int, entry: dict[str, Any], Z: np.ndarray) -> list[str]:
    """Count one record again, and list what is not as it says."""
    path = FOLDER / entry["labels"]
    labels = read_labels(path, len(Z))
    error, smallest = squared_error(Z, labels), int(np.bincount(labels).min())
    claims = {
        "checksum": hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"],
        f"k: a group of {smallest}": smallest >= k,
        f"SSE: counted {error:.6f}": abs(error - entry["SSE"]) <= DIGITS * error,
        "IL": abs(100 * error / Z.size - entry["IL"]) <= DIGITS * entry["IL"],
        "bound: above the SSE": entry["bound"] is None or entry["bound"] <= error * (1 + DIGITS),
    }
    return [f"{name}, k = {k}: {what}" for what, holds in claims.items() if not holds]


def recount(names: list[str], sizes: list[int]) -> None:
    """Print a line for each record, and end with an error if one does not hold."""
    print(f"{'set':9} {'k':>2} | {'SSE':>11} {'IL %':>9} | {'bound':>11} {'at most':>8} | sizes  | {'date':10} by")
    wrong = []
    for name in names:
        Z = z_scores(name)
        for k in sizes:
            entry = listed().get(key(name, k))
            if entry is None:
                continue
            wrong += faults(name, k, entry, Z)
            counts = np.bincount(read_labels(FOLDER / entry["labels"], len(Z)))
            above = f"{100 * (entry['SSE'] / entry['bound'] - 1):6.2f} %" if entry["bound"] else ""
            bound = f"{entry['bound']:11.4f}" if entry["bound"] else ""
            print(f"{name:9} {k:2} | {entry['SSE']:11.4f} {entry['IL']:9.5f} | {bound:>11} {above:>8} | ", end="")
            print(f"{counts.min():2}..{counts.max():2} | {entry['date']} {entry['by']}")
    if wrong:
        raise SystemExit("\n".join(wrong))


def score(path: Path, name: str, k: int) -> tuple[float, str]:
    """Return the SSE of labels, and how it compares with the record."""
    Z = z_scores(name)
    labels = read_labels(path, len(Z))
    smallest = int(np.unique(labels, return_counts=True)[1].min())
    if smallest < k:
        raise SystemExit(f"{path} has a group of {smallest} records, fewer than k = {k}")
    error = squared_error(Z, labels)
    best = listed().get(key(name, k))
    against = "" if best is None else f", {100 * (error / best['SSE'] - 1):+.4f} % of the record, {best['SSE']:.6f}"
    return error, f"{name}, k = {k}: SSE {error:.6f}, IL {100 * error / Z.size:.5f} %{against}"


def keep(path: Path, name: str, k: int, by: str) -> None:
    """Put labels among the records, if they are lower."""
    error, said = score(path, name, k)
    print(said)
    records = listed()
    before = records.get(key(name, k))
    if before is not None and error >= before["SSE"] * (1 - 1e-8):
        raise SystemExit("not lower: the record stays")
    Z = z_scores(name)
    text = written(read_labels(path, len(Z)))
    target = FOLDER / f"{name}_k{k}.csv"
    target.write_text(text, encoding="utf-8", newline="\n")
    records[key(name, k)] = {
        "SSE": float(f"{error:.9g}"),
        "IL": float(f"{100 * error / Z.size:.9g}"),
        "bound": None if before is None else before["bound"],
        "labels": target.name,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "by": by,
    }
    save(records)


def save(records: dict[str, Any]) -> None:
    """Write the list, in the order of sets and k."""
    order = sorted(records, key=lambda each: (list(SETS).index(each.split("-")[0]), int(each.split("-")[1])))
    LIST.write_text(json.dumps({each: records[each] for each in order}, indent=1) + "\n", encoding="utf-8")


def prove(names: list[str], sizes: list[int], seconds: float) -> None:
    """Prove bounds again, with `shoal.partitioning.certificate.lower_bound`, and keep those that are higher."""
    from shoal.partitioning.certificate import lower_bound
    from shoal.plan import Effort

    for name in names:
        Z = z_scores(name)
        for k in sizes:
            start = time.perf_counter()
            found = lower_bound(Z, k, Effort(None, seconds))
            spent = time.perf_counter() - start
            print(f"{name:9} {k:2} | {found.value:11.4f} by {found.how} in {spent:.0f} s", flush=True)
            records = listed()
            entry = records.get(key(name, k))
            if entry is not None and found.value > (entry["bound"] or 0.0):
                entry["bound"] = float(f"{found.value * (1 - 1e-9):.9g}")
                save(records)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--score", type=Path, metavar="FILE", help="labels to compare with a record")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="labels to keep, if they are lower")
    parser.add_argument("--by", default="", help="who found them, with what")
    parser.add_argument("--prove", type=float, metavar="SECONDS", help="prove bounds again")
    parser.add_argument("--sets", "--set", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("-k", type=int, nargs="+", default=list(range(3, 11)))
    options = parser.parse_args()
    if (options.score or options.keep) and (len(options.sets) != 1 or len(options.k) != 1):
        parser.error("name one --set and one -k")
    if options.keep is not None and not options.by:
        parser.error("name who found it: --by 'name, version'")
    if options.score is not None:
        print(score(options.score, options.sets[0], options.k[0])[1])
    elif options.keep is not None:
        keep(options.keep, options.sets[0], options.k[0], options.by)
    elif options.prove is not None:
        prove(options.sets, options.k, options.prove)
    else:
        recount(options.sets, options.k)


if __name__ == "__main__":
    sys.exit(main())
