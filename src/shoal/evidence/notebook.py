"""Figures in a notebook: nested results as static HTML tables, without a script, a style sheet or a network."""

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LONGEST = 20  # items of a list that are shown


class Figures(dict[str, Any]):
    """A result by name, which a notebook shows as tables: one for each part, folded up except the first."""

    def _repr_html_(self) -> str:
        return figures_html(self)


def figures_html(figures: Mapping[str, Any]) -> str:
    """Return figures as HTML: single ones in a table on top, each nested part in a table that unfolds."""
    single = {name: value for name, value in figures.items() if not _is_nested(value)}
    parts = [_table(_rows(single))] if single else []
    for name, value in figures.items():
        if _is_nested(value):
            parts.append(f"<details><summary>{html.escape(name)}</summary>{_table(_rows(value))}</details>")
    return f'<div class="shoal">{"".join(parts)}</div>'


def _is_nested(value: Any) -> bool:
    return bool(value) and (isinstance(value, Mapping) or (_is_list(value) and isinstance(value[0], Mapping)))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _rows(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each figure; a path is what the figure is asked for by, key after key."""
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _rows(each, f"{path} / {name}" if path else str(name))
    elif _is_list(value) and value and isinstance(value[0], Mapping):
        for at, each in enumerate(value[:_LONGEST]):
            yield from _rows(each, f"{path} / {at}" if path else str(at))
        if len(value) > _LONGEST:
            yield path, f"and {len(value) - _LONGEST:,} more"
    else:
        yield path, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if _is_list(value):
        shown = ", ".join(map(_text, value[:_LONGEST]))
        return f"{shown}, and {len(value) - _LONGEST:,} more" if len(value) > _LONGEST else shown or "none"
    return str(value)


def _table(rows: Iterator[tuple[str, str]]) -> str:
    cells = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
    return f"<table><tbody>{''.join(cells)}</tbody></table>"
