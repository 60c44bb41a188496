"""Tables 3.1 to 3.3 and Figures 3.1 to 3.5 of J. Domingo-Ferrer, 'Blocking methods for microdata protection' (2008).

    python -m bench.papers --blocking                            # 2,500,000 records, as printed: some minutes
    python -m bench.papers --blocking --n 250000 --d 2 3         # fewer records and attributes
    python -m bench.papers --blocking --figures docs/pictures    # draws the figures there
    python -m bench.papers --best-size                           # the best L: tried by hand, and `auto`

Data are uniform, k = 3, and SSE is that of z-scores. Univariate blocking is by n/L equal intervals of the first
attribute; on EIA it is by sorted counts of RESREVENUE, which is what meets the printed values.
"""

import itertools
import time
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import vl_convert
from bench.samples import distributed, reference_set

import shoal
from shoal.blocking import RecordBlocks, interval_blocks, partition_blocks, sorted_blocks, two_d_tree
from shoal.blocking.cells import CellTree
from shoal.blocking.cost import sse
from shoal.kernels.standardize import standardize
from shoal.partitioning.mdav import mdav

RECORDS = 2_500_000
SIZES = [500, 1000, 2000, 5000, 10_000]
TABLE_3_1 = dict(zip(SIZES, [16384, 4096, 4096, 1024, 1024], strict=True))  # univariate: n / L
TABLE_3_2 = {2: (4.55, 4.9), 3: (593.64, 1155.54), 4: (7953.22, 21004.5), 5: (37269.3, 99876.3), 10: (916119, 1985030)}
TABLE_3_3 = {
    (100, 3): (456.846, 663.435),
    (200, 3): (464.589, 503.281),
    (100, 5): (713.095, 1651.86),
    (200, 5): (734.925, 1179.25),
}
FIGURE_3_2 = [500_000, 1_000_000, 1_500_000, 2_000_000]
FIGURE_3_3 = [100_000, *FIGURE_3_2, RECORDS]
TREE, LINE = "2^d-tree", "univariate"

Row = dict[str, Any]


def blocks_of(Z: np.ndarray, how: str, k: int, L: int) -> tuple[RecordBlocks, np.ndarray]:
    """Divide records by a 2^d-tree, or by intervals of the first attribute; return the blocks, and that of each."""
    first = np.ascontiguousarray(Z[:, :1])
    X = Z if how == TREE else first
    blocks = (two_d_tree if how == TREE else interval_blocks)(lambda look: look(X), k, L)
    return blocks, blocks.assign(X)


def blocked_sse(Z: np.ndarray, how: str, k: int, L: int) -> float:
    """Return the SSE of MDAV in blocks."""
    return sse(Z, partition_blocks(Z, k, mdav, blocks_of(Z, how, k, L)[1]))


def print_counts(n: int) -> list[Row]:
    """Print Table 3.1; return the numbers of useful blocks for Figure 3.1."""
    Z = standardize(distributed("uniform", n, 2))
    print(f"\nTable 3.1: number of blocks, n = {n:,}, d = 2, k = 3; printed, ours, of them useful (not empty, fused)")
    print(f"{'L':>7}{'univariate':>24}{'':4}{'2^d-tree, printed':>18}{'deepest level':>15}{'leaves':>8}{'useful':>8}")
    rows: list[Row] = []
    for L in SIZES:
        line, tree = (blocks_of(Z, how, 3, L)[0] for how in (LINE, TREE))
        cells = tree.cells
        assert isinstance(cells, CellTree)
        complete = 2 ** int(cells.depth.max())
        print(f"{L:7,}{n // L:12,}{len(line.sizes):12,}{'':4}{TABLE_3_1[L]:18,}{complete:15,}", end="")
        print(f"{cells.leaves()[1]:8,}{len(tree.sizes):8,}")
        rows += [{"L": L, "blocks": len(each.sizes), "how": how} for each, how in ((line, LINE), (tree, TREE))]
        rows.append({"L": L, "blocks": TABLE_3_1[L], "how": f"{TREE}, printed"})
    print("The printed numbers are those of all cells of the deepest level, empty or not divided any further.")
    return rows


def print_dimensions(n: int, dimensions: list[int]) -> list[Row]:
    """Print Table 3.2; return the rows of Figure 3.5."""
    print(f"\nTable 3.2: SSE, n = {n:,}, L = 10,000, k = 3; printed (n = {RECORDS:,}), ours, difference in percent")
    print(f"{'d':>3}{TREE:^34}{LINE:^34}{'seconds':>9}")
    rows: list[Row] = []
    for d in dimensions:
        Z, begin = standardize(distributed("uniform", n, d)), time.process_time()
        text = ""
        for how, printed in zip((TREE, LINE), TABLE_3_2.get(d, (np.nan, np.nan)), strict=True):
            ours = blocked_sse(Z, how, 3, 10_000)
            text += f"{printed:12,.2f}{ours:13,.2f}{100 * (ours / printed - 1):+8.1f} "
            rows.append({"d": d, "SSE": ours, "how": how})
            rows += [{"d": d, "SSE": printed, "how": f"{how}, printed"}] if n == RECORDS and d in TABLE_3_2 else []
        print(f"{d:3}{text}{time.process_time() - begin:9.1f}", flush=True)
    return rows


def print_deeper(n: int, dimensions: list[int]) -> None:
    """Print the SSE of deeper trees where Table 3.2 prints more than ours."""
    for d in [each for each in (3, 4, 5) if each in dimensions]:
        Z = standardize(distributed("uniform", n, d))
        found = []
        for L in (10_000, 1_000, 200):
            blocks, of_record = blocks_of(Z, TREE, 3, L)
            found.append(
                f"L = {L:,}: {len(blocks.sizes):,} blocks {sse(Z, partition_blocks(Z, 3, mdav, of_record)):,.1f}"
            )
        print(f"d = {d}, printed {TABLE_3_2[d][0]:,}; {'; '.join(found)}", flush=True)


def print_eia(folder: Path) -> None:
    """Print Table 3.3."""
    table = reference_set(folder, "eia")
    Z = standardize(np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64))
    revenue = np.ascontiguousarray(Z[:, [table.column_names.index("RESREVENUE")]])
    print(f"\nTable 3.3: SSE of EIA ({len(Z):,} records, d = 11); printed, ours, difference in percent")
    print(f"{'L':>5}{'k':>3}{TREE:^30}{'univariate, sorted counts':^30}{'without blocks':>16}")
    for (L, k), printed in TABLE_3_3.items():
        line = sorted_blocks(lambda look: look(revenue), k, L).assign(revenue)
        ours = [blocked_sse(Z, TREE, k, L), sse(Z, partition_blocks(Z, k, mdav, line))]
        cells = (f"{p:10.2f}{o:10.2f}{100 * (o / p - 1):+8.1f}  " for p, o in zip(printed, ours, strict=True))
        print(f"{L:5}{k:3}" + "".join(cells) + f"{sse(Z, mdav(Z, k)):16.2f}")


def sizes_and_records(records: list[int]) -> list[Row]:
    """Return the SSE for every number of records and size of blocks, d = 2: Figures 3.2 to 3.4."""
    rows: list[Row] = []
    for n in records:
        Z = standardize(distributed("uniform", n, 2))
        for L, how in itertools.product(SIZES, (TREE, LINE)):
            rows.append({"n": f"{n:,} records", "L": L, "SSE": blocked_sse(Z, how, 3, L), "how": how})
    return rows


def print_sizes(rows: list[Row]) -> None:
    """Print what Figures 3.2 to 3.4 show, of which the paper has no numbers."""
    print("\nFigures 3.2 to 3.4: SSE, d = 2, k = 3; 2^d-tree / univariate")
    print(f"{'':18}" + "".join(f"{f'L = {L:,}':>16}" for L in SIZES))
    for name in dict.fromkeys(row["n"] for row in rows):
        own = {(row["L"], row["how"]): row["SSE"] for row in rows if row["n"] == name}
        print(f"{name:>18}" + "".join(f"{own[L, TREE]:8.3f} /{own[L, LINE]:6.2f}" for L in SIZES))


def drawn(rows: list[Row], x: str, y: str, title: str, colour: str | None = None) -> alt.LayerChart:
    """Draw curves: continuous for univariate blocking, dashed for the 2^d-tree as in the paper; printed values as +."""
    dash = alt.StrokeDash("how:N", title=None, scale=alt.Scale(domain=[LINE, TREE], range=[[1, 0], [6, 4]]))
    hue = alt.Color(f"{colour}:N", title=None, sort=None) if colour else alt.value("#0b6b74")
    scale = alt.Scale(type="log", nice=False) if y != "SSE" or x == "d" else alt.Scale(zero=False)
    ticks = SIZES if x == "L" else sorted({row["d"] for row in rows})
    across = alt.Scale(type="log" if x == "L" else "linear", domain=[min(ticks), max(ticks)], nice=False)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(f"{x}:Q", scale=across, axis=alt.Axis(values=ticks)), y=alt.Y(f"{y}:Q", scale=scale, title=y)
    )
    curves = base.transform_filter(alt.FieldOneOfPredicate("how", [LINE, TREE])).mark_line(point=True)
    layers = [curves.encode(strokeDash=dash, color=hue)]
    if any("printed" in row["how"] for row in rows):
        marks = base.transform_filter("indexof(datum.how, 'printed') > 0").mark_point(shape="cross", size=90, angle=45)
        layers.append(marks.encode(color=alt.value("#a8481c")))
    return alt.layer(*layers).properties(width=300, height=210, title=title)


def figures(counts: list[Row], dimensions: list[Row], sizes: list[Row]) -> dict[str, alt.TopLevelMixin]:
    """Draw Figures 3.1 to 3.5."""
    names = list(dict.fromkeys(row["n"] for row in sizes))
    panels = [[row for row in sizes if row["n"] == name] for name in names if name not in (names[0], names[-1])]
    by_n = alt.concat(*(drawn(rows, "L", "SSE", rows[0]["n"]) for rows in panels or [sizes]), columns=2)
    return {
        "3-1": drawn(counts, "L", "blocks", "Useful blocks (crosses: printed, all cells of the deepest level)"),
        "3-2": by_n,
        "3-3": drawn([row for row in sizes if row["how"] == TREE], "L", "SSE", "2^d-tree", "n"),
        "3-4": drawn([row for row in sizes if row["how"] == LINE], "L", "SSE", "Univariate blocking", "n"),
        "3-5": drawn(dimensions, "d", "SSE", "L = 10,000 (crosses: printed)"),
    }


def mixed_survey(n: int) -> pa.Table:
    """Draw persons with two numbers and three nominal attributes."""
    rng = np.random.default_rng(1)
    town = rng.choice(12, n, p=np.array([30, 20, 10, 8, 6, 6, 5, 5, 4, 3, 2, 1]) / 100)
    job, sex = rng.integers(0, 8, n), rng.integers(0, 2, n)
    columns = {"income": rng.lognormal(7 + town / 15 + 0.3 * sex, 0.7, n), "age": rng.integers(18, 90, n)}
    texts = {"town": town, "job": job, "sex": sex}
    return pa.table({**columns, **{name: [f"{name} {code}" for code in codes] for name, codes in texts.items()}})


def print_best(folder: Path) -> None:
    """Print the loss of blocks of sizes given by hand, and of `block_size = "auto"`, with processor time."""
    eia, census = (reference_set(folder, name) for name in ("eia", "census"))
    clusters = distributed("clustered", 100_000, 5)
    clustered = pa.table({f"x{j}": column for j, column in enumerate(clusters.T)})
    for name, table, k, blocking in (
        ("EIA", eia, 3, "2^d"),
        ("EIA", eia, 5, "2^d"),
        ("Census", census, 3, "2^d"),
        ("clustered, 100,000 x 5", clustered, 3, "2^d"),
        ("clustered, 100,000 x 5", clustered, 3, "kd"),
        ("survey of mixed types, 20,000 x 5", mixed_survey(20_000), 5, "kd"),
    ):
        text = ""
        for size in (200, 500, 1000, 2000, 5000, 10_000, None, "auto"):
            if isinstance(size, int) and size > len(table) // 2:
                continue
            begin = time.process_time()
            scale = {"blocking": blocking, "block_size": size}
            release = shoal.protect(table, k=k, quasi=table.column_names, method="mdav", scale=scale)
            chosen = f" ({release.plan.scale.block_size or 'one block'})" if size == "auto" else ""
            seconds = time.process_time() - begin
            text += f"  {size or 'one block'}{chosen}: {release.loss()['IL']:.3g} % {seconds:.1f} s"
        print(f"{name}, k = {k}, {blocking}:{text}", flush=True)


def run(n: int, dimensions: list[int], data: Path, folder: Path | None) -> None:
    """Print the tables, and draw the figures if there is a folder for them."""
    if data.is_dir():
        print_eia(data)
    else:
        print(f"Table 3.3 needs the reference data sets, which are not in {data}; SHOAL_DATA names their folder")
    counts = print_counts(n)
    rows = print_dimensions(n, dimensions)
    print_deeper(n, dimensions)
    sizes = sizes_and_records([each for each in FIGURE_3_3 if each <= n] or [n])
    print_sizes(sizes)
    for name, chart in figures(counts, rows, sizes).items() if folder is not None else ():
        path = folder / f"blocking-{name}.svg"
        path.write_text(vl_convert.vegalite_to_svg(chart.configure(aria=False).to_dict()) + "\n", encoding="utf-8")
        print(f"drawn: {path}")
