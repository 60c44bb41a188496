"""The site builds without a warning, loads nothing from elsewhere, and its links lead somewhere."""

import html
import html.parser
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.pages import DOCS

from shoal.backends.capabilities import LIMITS
from shoal.cli.commands import SUMMARIES
from shoal.plan import Plan


class Links(html.parser.HTMLParser):
    """What a page loads, where it leads, and the places in it that can be led to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.leads: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.places |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag in ("script", "img", "iframe", "source", "object", "embed"):
            self.loaded += [found[name] for name in ("src", "data") if found.get(name)]
        if tag == "link" and found.get("href"):
            self.loaded.append(found["href"])
        if tag == "a" and found.get("href"):
            self.leads.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does, but into a folder of the tests."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """Every page with its links."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:  # a template of the theme, which is no page
            continue
        links = Links()
        links.feed(path.read_text(encoding="utf-8"))
        found[path] = links
    return found


def test_pages_load_nothing_from_another_address(pages, site):
    for path, links in pages.items():
        far = [each for each in links.loaded if urlsplit(each).netloc]
        assert not far, f"{path.relative_to(site)} loads {far}"


def test_style_sheets_load_nothing_from_another_address(site):
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert "url(http" not in text.replace('"', "").replace("'", ""), path.name
        assert "@import" not in text or "http" not in text.split("@import", 1)[1][:60], path.name


def test_every_link_within_the_site_leads_somewhere(pages, site):
    broken = []
    for path, links in pages.items():
        for link in [*links.leads, *links.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.exists() or (place and target in pages and place not in pages[target].places):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_formulas_are_drawn_without_scripts(pages, site):
    page = site / "methods" / "univariate.html"
    assert "<math" in page.read_text(encoding="utf-8")
    assert not [each for each in pages[page].loaded if "mathjax" in each.lower()]


def rows_of(page: str) -> list[list[str]]:
    """The rows of all tables of a page, as the text of their cells."""
    rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    cells = [re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL) for row in rows if "<td" in row]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in cells]


def text_of(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


def test_every_field_of_a_plan_is_described(site):
    text = text_of(site, "reference/plan.html")
    assert not [name for name in Plan.model_fields if f">{name}</span>" not in text]


def test_every_limit_of_an_engine_is_shown_with_its_reason(site):
    rows = rows_of(text_of(site, "reference/engines.html"))
    for limit in LIMITS:
        [row] = [row for row in rows if row[0] == limit.option]
        having = [engine for engine in ("memory", "file", "spark") if engine not in limit.engines]
        assert row[1:] == [", ".join(having), limit.reason]


def test_every_command_is_described(site):
    text = text_of(site, "reference/command-line.html")
    assert not [name for name in SUMMARIES if f"shoal {name}" not in text]
    assert "--on-interrupt" in text


def test_every_public_name_is_described(site):
    import shoal

    text = text_of(site, "reference/python.html")
    assert not [name for name in shoal.__all__ if f'id="shoal.{name}"' not in text]
