"""Scatter plots as SVG, of percentages against percentages."""

from collections.abc import Iterator
from dataclasses import dataclass

SIDE, LEFT, TOP, BOTTOM = 300, 60, 40, 80
LABELLED = (2, 10, 99)  # values of k


@dataclass(frozen=True)
class Series:
    """Points of one colour, one for each k."""

    label: str
    colour: str
    points: dict[int, tuple[float, float]]


def scatter(panels: dict[str, list[Series]], axes: tuple[str, str], note: str) -> Iterator[str]:
    """Draw panels side by side; a dashed line joins all points whose percentages add up to 100."""
    width, height = len(panels) * (SIDE + LEFT) + LEFT, TOP + SIDE + BOTTOM
    box = f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {box}>\n<rect width="{width}" height="{height}" fill="white"/>\n'
    for number, (title, several) in enumerate(panels.items()):
        yield f'<g transform="translate({LEFT + number * (SIDE + LEFT)} {TOP})">\n'
        yield from _frame(title, axes)
        for series in several:
            yield from _points(series)
        yield "</g>\n"
    x, y = LEFT, height - 16
    for series in several:
        yield f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{series.colour}"/>\n'
        yield f'<text x="{x + 10}" y="{y}">{series.label}</text>\n'
        x += 30 + 7 * len(series.label)
    yield f'<text x="{x}" y="{y}" fill="#555">{note}</text>\n</svg>\n'


def _frame(title: str, axes: tuple[str, str]) -> Iterator[str]:
    yield f'<text x="{SIDE / 2:g}" y="-12" text-anchor="middle" font-weight="bold">{title}</text>\n'
    for tick in range(0, 101, 20):
        at = SIDE * tick // 100
        yield f'<path d="M{at} 0V{SIDE}M0 {at}H{SIDE}" stroke="#ddd"/>\n'
        yield f'<text x="{at}" y="{SIDE + 16}" text-anchor="middle">{tick}</text>\n'
        yield f'<text x="-8" y="{SIDE - at + 4}" text-anchor="end">{tick}</text>\n'
    yield f'<path d="M0 0L{SIDE} {SIDE}" stroke="#888" stroke-dasharray="4"/>\n'
    yield f'<text x="{SIDE / 2:g}" y="{SIDE + 34}" text-anchor="middle">{axes[0]}</text>\n'
    yield f'<text transform="translate(-36 {SIDE / 2:g}) rotate(-90)" text-anchor="middle">{axes[1]}</text>\n'


def _points(series: Series) -> Iterator[str]:
    for k, (right, up) in series.points.items():
        x, y = SIDE * right / 100, SIDE * (1 - up / 100)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{series.colour}"/>\n'
        if k in LABELLED:
            yield f'<text x="{x + 5:.1f}" y="{y - 5:.1f}" fill="{series.colour}">k = {k}</text>\n'
