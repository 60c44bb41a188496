"""The directive `engine-limits`: what each engine lacks, and why, read from the table of the backends."""

from typing import ClassVar, get_args

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from shoal.backends.capabilities import LIMITS, Engine


def table() -> str:
    """Write the limits as a table, in Markdown."""
    rows = []
    for limit in LIMITS:
        having = ", ".join(f"`{engine}`" for engine in get_args(Engine) if engine not in limit.engines)
        rows.append(f"| `{limit.option}` | {having} | {limit.reason} |")
    return "\n".join(["| option | engines that have it | the reason: it ... |", "|---|---|---|", *rows])


class EngineLimits(SphinxDirective):
    """Describe what is not available on every engine."""

    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Read it from the backends."""
        return self.parse_text_to_nodes(table())


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("engine-limits", EngineLimits)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
