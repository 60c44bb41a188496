"""The directive `message-codes`: every code with its severity and its sentence, read from the table of messages."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from shoal.messages.table import ROOMS, TABLES

_PLACEHOLDER = re.compile(r"\{(\w+)[^{}]*\}")


def described() -> str:
    """Write a table of codes per severity, in Markdown; phrases are parts of other sentences and have no row."""
    lines: list[str] = []
    for table, severity in TABLES.items():
        found = sorted((code, text) for room in ROOMS for code, text in getattr(room, table, {}).items())
        if found and table != "PHRASES":
            lines += [f"## {severity.capitalize()}s", "", "| code | sentence |", "|---|---|"]
            lines += [f"| `{code}` | {_shown(text)} |" for code, text in found]
            lines.append("")
    return "\n".join(lines)


def _shown(template: str) -> str:
    """Return a sentence with the names of its data in italics and options as they are typed."""
    text = re.sub(r"([\\*_`<|\[\]$])", r"\\\1", re.sub(r"(?<![\w-])(--?[a-z][a-z0-9-]*)=", r"\1 ", template))
    return _PLACEHOLDER.sub(lambda found: f"*{found[1]}*", text.replace("\\_", "_"))


class MessageCodes(SphinxDirective):
    """List all codes."""

    def run(self) -> list[nodes.Node]:
        """Read them from the table."""
        return self.parse_text_to_nodes(described(), allow_section_headings=True)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("message-codes", MessageCodes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
