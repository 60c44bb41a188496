"""In a notebook: everything is static SVG or HTML, nothing is asked of a network, and signatures can be read."""

import inspect
import pydoc
import re

import pytest

import shoal

ROLES = {"quasi": ["age", "income", "town"], "confidential": ["sick"], "publish": ["region"]}
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
CELLS = [
    "import shoal\nfrom tests.report.report_samples import people\n"
    f"table = people(60).select(['age', 'income', 'town', 'sick', 'region'])\nroles = {ROLES!r}",
    "release = shoal.protect(table, k=5, **roles)\nrelease",
    "release.plot_sizes()",
    "release.plot_distribution('age')",
    "release.plot_correlations()",
    "sweep = shoal.sweep(table, k=[3, 5], method='mdav', **roles)\nsweep",
    "sweep.plot_map()",
    "shoal.roles(table)",
    "shoal.risk(table, ['town', 'region'])",
    "shoal.assess(table, release.table, quasi=['age', 'income', 'town'])",
]


def refuse_dynamic(shown):
    """Fail if what a notebook shows has a script, or an address that a browser would ask."""
    assert shown.keys() <= {"text/plain", "text/html", "image/svg+xml"}
    for kind in ("text/html", "image/svg+xml"):
        text = shown.get(kind, "")
        assert set(re.findall(r"https?://[^\s\"'<>]+", text)) <= NAMESPACES
        assert not re.search(r"<(script|link|iframe|img|image|object|embed)\b|@import|url\((?!#)", text)


def displayed(value):
    """Return what IPython's display formatter asks an object for."""
    if hasattr(value, "_repr_mimebundle_"):
        return value._repr_mimebundle_()
    return {"text/html": value._repr_html_()}


@pytest.fixture(scope="module")
def results():
    """What the last line of each cell returns."""
    found, space = [], {}
    for cell in CELLS:
        *lines, last = cell.splitlines()
        exec("\n".join(lines), space)
        try:
            found.append(eval(last, space))
        except SyntaxError:
            exec(last, space)
    return found


def test_every_display_is_static(results):
    assert len(results) == len(CELLS) - 1
    for result in results:
        shown = displayed(result)
        assert shown.keys() & {"text/html", "image/svg+xml"}
        refuse_dynamic(shown)


def test_charts_are_whole_svg_pictures_with_a_description(results):
    charts = [displayed(each) for each in results if hasattr(each, "_repr_mimebundle_")]
    assert len(charts) == 4
    for chart in charts:
        assert chart["image/svg+xml"].startswith('<svg xmlns="http://www.w3.org/2000/svg"')
        assert len(chart["text/plain"]) > 20


def test_an_assessment_is_shown_with_the_keys_that_lead_to_its_figures(results):
    shown = results[-1]._repr_html_()
    assert "<summary>risk</summary>" in shown
    assert f"<tr><th>DLD / expected</th><td>{results[-1]['risk']['DLD']['expected']:,.6g}</td></tr>" in shown


def test_what_is_shown_is_escaped():
    from shoal.evidence.notebook import Figures

    shown = Figures({"<b>": "<script>", "part": {"<i>": ["<u>"] * 30}, "rows": [{"a": 1.5}] * 25})._repr_html_()
    assert not re.search("<(b|i|u|script)>", shown)
    assert "and 10 more" in shown
    assert "and 5 more" in shown


@pytest.mark.parametrize("function", [shoal.protect, shoal.sweep, shoal.Plan])
def test_signatures_name_every_field_of_the_plan_with_its_default(function):
    shown = inspect.signature(function).parameters
    for name, field in shoal.Plan.model_fields.items():
        assert name in shown
        if function is not shoal.sweep or name not in ("k", "method"):
            assert shown[name].default == field.default
    assert not any(each.kind is each.VAR_KEYWORD for each in shown.values())


def test_help_has_a_line_for_each_keyword_in_plain_types():
    text = pydoc.plain(pydoc.render_doc(shoal.protect))
    shown = dict(re.findall(r"^ *(\w+): (.*),$", text, re.MULTILINE))
    assert shown["k"] == "int | None = None"
    assert shown["quasi"] == "list[str] | None = None"
    assert shown["progress"] == "Callable = quiet"
    assert not re.search(r"Annotated|FieldInfo|BeforeValidator|0x[0-9a-f]{6}", text)
    assert shoal.Plan.model_fields["k"].description in shoal.Plan.__doc__


@pytest.mark.slow
def test_a_notebook_runs_and_shows_nothing_that_needs_a_network():
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    client.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    for cell in notebook.cells[1:]:
        [shown] = [each["data"] for each in cell.outputs if each["output_type"] == "execute_result"]
        assert shown.keys() & {"text/html", "image/svg+xml"}
        refuse_dynamic(shown)
