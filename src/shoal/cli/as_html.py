"""What commands show on a terminal, as HTML: the same words, tables that a browser can stack, colours that can be read.

Only the kinds of output that commands use are known: texts, tables, groups of them, and padding around them.
"""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

# Terminal colours that are too pale on white, by darker ones.
_COLOURS = {"red": "#8c1d18", "yellow": "#7a4500", "green": "#1b6e3c", "cyan": "#0b6b74"}
_DIM = "#525b64"


def as_html(shown: Iterable[RenderableType]) -> str:
    """Return what was shown, part by part, as HTML."""
    return "\n".join(part for each in shown for part in _parts(each) if part)


def _parts(shown: Any) -> Iterator[str]:
    match shown:
        case Group():
            for each in shown.renderables:
                yield from _parts(each)
        case Padding():
            yield from _parts(shown.renderable)
        case Table():
            yield _table(shown)
        case Text() | str():
            yield from _paragraphs(_text(shown))
        case _:
            raise TypeError(f"cannot be shown as HTML: {type(shown).__name__}")


def _text(shown: Any) -> Text:
    return shown if isinstance(shown, Text) else Text.from_markup(str(shown))


def _paragraphs(text: Text) -> Iterator[str]:
    """Yield a paragraph for every line."""
    for line in text.split("\n", allow_blank=True):
        if line.plain.strip():
            yield f"<p>{_spans(line)}</p>"


def _spans(text: Text) -> str:
    """Return a line with its styles as spans."""
    found = []
    ends = sorted({0, len(text), *(at for span in text.spans for at in (span.start, span.end))})
    for start, end in pairwise(ends):
        styles = [text.style, *(span.style for span in text.spans if span.start <= start and span.end >= end)]
        css = _css(Style.combine(each if isinstance(each, Style) else Style.parse(each) for each in styles))
        words = escape(text.plain[start:end])
        found.append(f'<span style="{css}">{words}</span>' if css else words)
    return "".join(found)


def _css(style: Style) -> str:
    colour = _DIM if style.dim else _COLOURS.get(style.color.name if style.color else "", "")
    return "; ".join(
        [*(["font-weight: 600"] if style.bold else []), *([f"color: {colour}"] if colour else [])],
    )


def _table(table: Table) -> str:
    """Return a table whose cells name their columns, for screens on which rows are stacked."""
    headers = [_text(column.header or "") for column in table.columns]
    rows = zip(*(list(column.cells) for column in table.columns), strict=True)
    justified = ["n" if column.justify == "right" else "" for column in table.columns]
    titled = any(header.plain.strip() for header in headers)
    head = "".join(
        f'<th scope="col" class="{side}">{_spans(header)}</th>' if header.plain.strip() else "<td></td>"
        for header, side in zip(headers, justified, strict=True)
    )
    body = "\n".join(_row(list(row), headers, justified, _css(_style(styled))) for row, styled in _styled(rows, table))
    caption = f'<p class="quiet">{_spans(_text(table.caption))}</p>' if table.caption is not None else ""
    title = f"<caption>{_spans(_text(table.title))}</caption>" if table.title is not None else ""
    thead = f"<thead><tr>{head}</tr></thead>" if titled and table.show_header else ""
    return f'<table class="shoal-figures">{title}{thead}<tbody>\n{body}\n</tbody></table>{caption}'


def _styled(rows: Iterable[tuple[Any, ...]], table: Table) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for row, about in zip(rows, table.rows, strict=True):
        yield row, about.style


def _style(style: Any) -> Style:
    return style if isinstance(style, Style) else Style.parse(style or "")


def _row(cells: list[Any], headers: list[Text], justified: list[str], css: str) -> str:
    """Return a row; its first cell is its heading."""
    first, *others = cells
    written = "".join(
        f'<td class="{side}" data-label="{escape(header.plain.strip(), quote=True)}">{_cell(cell)}</td>'
        for cell, header, side in zip(others, headers[1:], justified[1:], strict=True)
    )
    styled = f' style="{css}"' if css else ""
    heading = f'<th scope="row">{_cell(first)}</th>' if _cell(first) else "<td></td>"
    return f"<tr{styled}>{heading}{written}</tr>"


def _cell(cell: Any) -> str:
    if isinstance(cell, Text | str):
        return "<br>".join(_spans(line) for line in _text(cell).split("\n")) if _text(cell).plain.strip() else ""
    return as_html([cell])
