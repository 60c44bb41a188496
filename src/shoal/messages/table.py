"""The table of all messages: the severity and the template of each code."""

from collections.abc import Mapping
from types import ModuleType
from typing import Literal

from shoal.messages import backends, edits, evidence, faces, files, general, groups, methods, pipeline, plan, tables

ROOMS: tuple[ModuleType, ...] = (
    general,
    plan,
    files,
    tables,
    pipeline,
    groups,
    edits,
    methods,
    backends,
    evidence,
    faces,
)
Severity = Literal["error", "warning", "note"]
TABLES: dict[str, Severity] = {"ERRORS": "error", "WARNINGS": "warning", "NOTES": "note", "PHRASES": "note"}


def _gathered() -> dict[str, tuple[Severity, str]]:
    """Return the sentences of all rooms; a code that two rooms define is a ValueError."""
    found: dict[str, tuple[Severity, str]] = {}
    for room in ROOMS:
        for table, severity in TABLES.items():
            sentences: Mapping[str, str] = getattr(room, table, {})
            if both := found.keys() & sentences.keys():
                raise ValueError(f"codes of two messages: {sorted(both)}")
            found |= {code: (severity, text) for code, text in sentences.items()}
    return found


SENTENCES = _gathered()
