"""Nothing planted in a file shows on the page, on its way there, in what is downloaded, or in what is printed."""

from tests.app.conftest import serving
from tests.app.test_browser import choose, downloaded, upload
from tests.planted import CONFIDENTIAL, found_in, found_under, planted_table

from shoal.tables import open_table, write_table


def test_nothing_planted_comes_to_light(chromium, tmp_path):
    write_table(open_table(planted_table()), tmp_path / "people.csv", "csv")
    temporary, taken = tmp_path / "temporary", tmp_path / "taken"
    temporary.mkdir()
    taken.mkdir()
    received: list[str | bytes] = []
    with serving(temporary) as served:
        context = chromium.new_context(accept_downloads=True)
        page = context.new_page()
        page.set_default_timeout(300_000)
        page.on("websocket", lambda socket: socket.on("framereceived", lambda said: received.append(said)))
        page.goto(served.link)
        upload(page, tmp_path / "people.csv")
        for name in CONFIDENTIAL:
            choose(page, f"Role of {name}", "sensitive")
        received.append(page.content())
        page.get_by_role("button", name="Next: protection").click()
        page.get_by_role("button", name="Draw the risk-utility map").click()
        page.get_by_role("slider").wait_for()
        received.append(page.content())
        page.get_by_role("button", name="Protect", exact=True).click()
        page.get_by_role("heading", name="Before and after").wait_for()
        received.append(page.content())
        for what in ("Report", "Plan", "Manifest"):
            downloaded(page, what, taken)
        context.close()
    assert len(received) > 10
    assert [marks for said in received if (marks := found_in(said))] == []
    assert found_under(taken) == {}
    assert found_in("".join(served.lines)) == []
    assert list(temporary.iterdir()) == []
