"""Names and cells with characters that no screen should obey, all the way through the page."""

import io
import zipfile
from types import SimpleNamespace

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

from tests.app.clients import SECRET, Client, free_port
from tests.app.test_service import app, running, until_healthy
from tests.expect import prints

from shoal.app.listing import Listing
from shoal.app.steps.attributes import _bars
from shoal.messages import Message
from shoal.text import visible

ESCAPE, RIGHT_TO_LEFT, NO_CHARACTER, NO_BREAK = "\x1b[2K", "\u202e", "\ufffe", "\u2028"
AGE, TOWN, PAY = f"a{ESCAPE}ge{RIGHT_TO_LEFT}", f"t\x07own{NO_CHARACTER}\ufdd0", f"p{NO_BREAK}ay"
TOWNS = [f"A{RIGHT_TO_LEFT}", "B\x07", f"C{NO_CHARACTER}", "\ufdd0"]


def table(*names, towns=TOWNS):
    columns = [
        [i * 7 % 41 for i in range(120)],
        [towns[i % 4] for i in range(120)],
        [i * 5 % 37 + 0.5 for i in range(120)],
    ]
    return pa.table(dict(zip(names, columns, strict=True)))


def as_csv(given):
    rows = zip(*given.to_pydict().values(), strict=True)
    lines = [given.column_names, *rows]
    return "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines).encode()


def as_parquet(given):
    pq.write_table(given, file := io.BytesIO())
    return file.getvalue()


def hidden(text):
    return {each for each in text if not each.isprintable()} - {"\n", "\t"}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    secret = folder / "proxy.secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    port = free_port()
    address = f"http://127.0.0.1:{port}/"
    with running(*app(port, address, secret)) as server:
        until_healthy(f"{address}health", server)
        yield address


def texts_of(client, page):
    """What a page shows, and what screen readers say of it."""
    shown = []
    for each in client.elements(page).values():
        props = each.get("props", {})
        options = [option.get("label") for option in props.get("options", []) if isinstance(option, dict)]
        shown += [each.get("text"), props.get("label"), props.get("aria-label"), props.get("innerHTML"), *options]
    return [str(text) for text in shown if text]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_odd_names_and_cells_go_all_the_way_and_are_shown_by_their_codes(url, kind):
    names = (AGE, TOWN, PAY) if kind == "csv" else (f"{AGE}\0", TOWN, PAY)
    client = Client(url, kind)
    given = table(*names)
    assert client.upload(f"people.{kind}", as_csv(given) if kind == "csv" else as_parquet(given)).status_code == 200
    page = client.until("What are the attributes?")
    shown = texts_of(client, page)
    assert [visible(name) for name in names] == [text for text in shown if text in {visible(name) for name in names}]
    assert prints(client.get("/download/masked").text, "no-such-download")
    client.click("Next: protection")
    pages = [page, client.until("Protect")]
    client.click("Protect")
    pages.append(client.until("The release"))
    for each in pages:
        assert not hidden("".join(texts_of(client, each)))
    for report in ("report", "users"):
        found = client.get(f"/download/{report}")
        assert found.status_code == 200
        assert not hidden(found.text)
    masked = client.get("/download/masked").content
    if kind == "csv":
        assert masked.decode().partition("\n")[0] == ",".join(names)
    else:
        assert pq.read_table(io.BytesIO(masked)).column_names == [*names]


def workbook(name):
    """A workbook with a name of a column as it stands in the file, where \\_xD800_ is half a character."""
    book = openpyxl.Workbook()
    for row in [("planted", "pay"), *((i * 7 % 41, i) for i in range(40))]:
        book.active.append(row)
    book.save(file := io.BytesIO())
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(new := io.BytesIO(), "w") as written:
        for each in old.namelist():
            written.writestr(each, old.read(each).replace(b"planted", name))
    return new.getvalue()


READ = {
    "half.xlsx": (workbook(b"a_xD800_ge"), "a_xD800_ge"),  # no text can hold it: it stays as it is spelt
    "half.csv": (b"a\xed\xa0\x80ge,pay\n" + b"1,2\n" * 40, "a\u00ed\u00a0\u20acge"),
    "half.xml": (b"<r><p><age>&#xD800;</age></p></r>", Message("damaged-file", path="half.xml", format="XML", line=1)),
    "nul.csv": (b"a\0ge,pay\n" + b"1,2\n" * 40, Message("not-text-file", path="nul.csv", nul=True)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_what_is_no_text_is_read_or_refused_for_that_reason(url, name):
    content, words = READ[name]
    client = Client(url, name)
    assert client.upload(name, content).status_code == 200
    client.until("What are the attributes?" if words[0] == "a" else "Read the file again")
    problem = words.split(". ")[0]  # the remedy names an option, by its label on the page
    assert any(visible(problem) in text for text in texts_of(client, client.page()))


def test_a_distribution_shows_names_and_values_by_their_codes():
    drawn = _bars(visible(AGE), {"rows": [[TOWNS[1], 50.0, None], ["<b>", 50.0, 7]], "notes": []})
    assert not hidden(drawn)
    assert r"B\x07" in drawn
    assert "&lt;b&gt;" in drawn


def test_attributes_are_found_by_what_is_shown_of_their_names():
    columns = [{"column": name, "warning": "", "missing": 0} for name in (AGE, TOWN)]
    choices = SimpleNamespace(roles=dict.fromkeys((AGE, TOWN), "quasi"), missing_codes={})
    assert [each["column"] for each in Listing(search=r"\x1B[2k").matching(columns, choices)] == [AGE]
