"""How the documentation is built: sphinx-build -W --keep-going -b html docs docs/_build/html

Nothing that a reader's browser loads comes from another address: formulas are MathML, pictures are SVG, and the theme
brings its fonts and scripts along.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from shoal import __version__

project = "Shoal"
copyright = "Shoal"  # noqa: A001 - Sphinx's own name for it
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    # in docs/_ext: what is generated from the package, so that it cannot go stale
    "command_line",
    "departures",
    "engine_limits",
    "message_codes",
    "mathml",
    "plan_fields",
]
exclude_patterns = ["_build"]

# Markdown
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4  # a link to #a-heading works, as it does where Markdown is read without Sphinx
highlight_language = "text"  # of code blocks that do not say what they are: commands and what they print

# Docstrings
default_role = "py:obj"  # `shoal.protect` in a docstring is a link
autodoc_typehints = "none"  # docstrings say types in words
autosummary_generate = False  # all is on one page, which the tables link to
numpydoc_show_class_members = False

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "Shoal"
html_static_path = ["_static"]
html_css_files = ["shoal.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "use_edit_page_button": False,
}
html_sidebars: dict[str, list[str]] = {"index": [], "tutorial": []}  # which have nothing beside them to list
