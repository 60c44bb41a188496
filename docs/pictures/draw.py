"""Draw the pictures of the tutorial and of record blocks again: python docs/pictures/draw.py

They are made by the package itself, from the survey of the demonstration and from random points. Figures of a paper are
drawn by `python -m bench.papers --blocking --figures docs/pictures`.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import numpy as np
import vl_convert

import shoal
from shoal.blocking.cells import CellTree, contents, grow
from shoal.cli.demo import run
from shoal.datasets import CONFIDENTIAL, QUASI, TYPES
from shoal.kernels.kd_nearest import fuse_small
from shoal.parallel import quiet

FOLDER = Path(__file__).parent


def draw() -> None:
    """Protect the survey as the tutorial does, and write a picture of each chart."""
    with TemporaryDirectory() as folder:
        run(Path(folder) / "demo", 5, quiet)
        asked = {"quasi": QUASI, "confidential": CONFIDENTIAL, "types": TYPES}
        survey = Path(folder) / "demo" / "survey.csv"
        release = shoal.protect(survey, k=5, method="mdav", **asked)
        sweep = shoal.sweep(survey, k=range(3, 11), method="mdav", max_risk=15, **asked)
    charts = {
        "sizes": release.plot_sizes(),
        "age": release.plot_distribution("age"),
        "map": sweep.plot_map(),
        "quadtree": quadtree(),
    }
    for name, chart in charts.items():
        (FOLDER / f"{name}.svg").write_text(vl_convert.vegalite_to_svg(chart.to_dict()) + "\n", encoding="utf-8")


def quadtree(n: int = 500, L: int = 50, k: int = 10) -> alt.LayerChart:
    """Draw a 2^d-tree of two attributes: its leaves, those of fewer than k records, and what they are fused with.

    n, L and k are those of Figures 2.1 to 2.3 of Domingo-Ferrer (2008).
    """
    rng = np.random.default_rng(8)
    X = np.concatenate([rng.normal(c, s, (n // 4, 2)) for c, s in ((0.2, 0.07), (0.55, 0.16), (0.8, 0.05))])
    X = np.concatenate([X, rng.random((n - len(X), 2))]).clip(0, 1)
    tree = grow(lambda look: look(X), L, whole_levels=True)
    inside = contents(tree, X)
    centres = inside.centroids(tree)
    target = centres[fuse_small(centres, inside.counts, k)]
    boxes = []
    for node, leaf in enumerate(tree.leaves()[0]):
        if leaf < 0:
            continue
        corners = [*_box(tree, node, X.min(axis=0), X.max(axis=0)), centres[leaf], target[leaf]]
        names = ("x", "y", "x2", "y2", "cx", "cy", "ex", "ey")
        row = dict(zip(names, np.concatenate(corners).tolist(), strict=True))
        boxes.append({**row, "what": f"fewer than k = {k} records" if inside.counts[leaf] < k else "a block"})
    axis = alt.Axis(grid=False, labels=False, ticks=False, domain=False)
    x, y = alt.X("x:Q", axis=axis, title="one attribute"), alt.Y("y:Q", axis=axis, title="another attribute")
    colours = alt.Scale(domain=[f"fewer than k = {k} records", "a block"], range=["#f1c9b3", "#ffffff"])
    leaves = alt.Chart(alt.Data(values=boxes)).mark_rect(stroke="#525b64", strokeWidth=0.8)
    leaves = leaves.encode(x=x, y=y, x2="x2:Q", y2="y2:Q", color=alt.Color("what:N", title="leaf", scale=colours))
    points = alt.Chart(alt.Data(values=[{"x": float(a), "y": float(b)} for a, b in X])).mark_circle(
        size=7, color="#0b6b74"
    )
    lines = alt.Chart(alt.Data(values=[row for row in boxes if row["what"] != "a block"])).mark_rule(
        color="#a8481c", strokeWidth=2
    )
    links = lines.encode(x=alt.X("cx:Q"), y=alt.Y("cy:Q"), x2="ex:Q", y2="ey:Q")
    return (
        alt.layer(leaves, points.encode(x="x:Q", y="y:Q"), links)
        .properties(width=420, height=420)
        .configure(aria=False)
    )


def _box(tree: CellTree, leaf: int, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a leaf: its ancestors halve one attribute after the other."""
    path = []
    while leaf:
        (parent,), (side,) = np.nonzero(tree.children == leaf)
        path.append((int(tree.depth[parent]) % len(low), int(side)))
        leaf = int(parent)
    low, high = low.copy(), high.copy()
    for attribute, side in reversed(path):
        middle = (low[attribute] + high[attribute]) / 2
        (low if side else high)[attribute] = middle
    return low, high


if __name__ == "__main__":
    draw()
