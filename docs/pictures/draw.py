"""Draw the pictures of the tutorial anew: python docs/pictures/draw.py

They are made by the package itself, from the survey of the demonstration.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import vl_convert

import shoal
from shoal.cli.demo import run
from shoal.datasets import CONFIDENTIAL, QUASI, TYPES
from shoal.parallel import quiet

FOLDER = Path(__file__).parent


def draw() -> None:
    """Protect the survey as the tutorial does, and write a picture of each chart."""
    with TemporaryDirectory() as folder:
        run(Path(folder) / "demo", 5, quiet)
        asked = {"quasi": QUASI, "confidential": CONFIDENTIAL, "types": TYPES}
        survey = Path(folder) / "demo" / "survey.csv"
        release = shoal.protect(survey, k=5, **asked)
        sweep = shoal.sweep(survey, k=range(3, 11), method="mdav", max_risk=15, **asked)
    charts = {"sizes": release.plot_sizes(), "age": release.plot_distribution("age"), "map": sweep.plot_map()}
    for name, chart in charts.items():
        (FOLDER / f"{name}.svg").write_text(vl_convert.vegalite_to_svg(chart.to_dict()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    draw()
