"""Formulas as MathML, which browsers draw by themselves: no script, no font, no picture."""

import html

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


def drawn(node: nodes.Element, *, as_block: bool) -> str:
    """Turn a formula into MathML; one that cannot be read is shown as it was written, with a warning."""
    formula = node.astext().replace(r"\dots", r"\ldots")  # the one common name that docutils does not know
    try:
        return str(tex2mathml(formula, as_block=as_block))
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", formula, error, location=node)
        return html.escape(formula)


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    self.body.append(drawn(node, as_block=False))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="formula">{drawn(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make it known to Sphinx as the renderer named mathml."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
