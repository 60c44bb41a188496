"""The guard before the page: with how much one gets in, and what browsers are told."""

import asyncio
import base64
import hashlib
import re

import pytest
from tests.expect import prints

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

from tests.app.guarded import ASSET, LIMIT, SECRET, UPLOAD, plain, with_tls

from shoal.app.security import windows
from shoal.app.security.limits import PARTS, SMALL, UPLOADS, WINDOWS
from shoal.app.security.passing import Answer


@pytest.fixture
def site():
    return plain()


@pytest.fixture
def encrypted():
    return with_tls()


# Sizes


async def in_pieces(size):
    for start in range(0, size, 1 << 16):
        yield b"x" * min(1 << 16, size - start)


async def a_form(size):
    yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    async for piece in in_pieces(size):
        yield piece
    yield b"\r\n--b--\r\n"


FORM = {"content-type": "multipart/form-data; boundary=b"}


def test_a_request_may_have_a_mebibyte_whether_it_says_so_or_not(site):
    browser = site.inside()
    for content in (bytes, in_pieces):
        assert browser.post("/read", content=content(SMALL)).text == str(SMALL)
        answer = browser.post("/read", content=content(SMALL + 1))
        assert answer.status_code == 413
        assert prints(answer.text, "too-large-request", file=False, most=1_048_576)


def test_an_upload_may_be_as_large_as_the_limit(site):
    browser = site.inside()
    assert browser.post(UPLOAD, content=a_form(LIMIT), headers=FORM).text == str(LIMIT)
    answer = browser.post(UPLOAD, content=a_form(LIMIT + SMALL), headers=FORM)
    assert answer.status_code == 413
    assert prints(answer.text, "too-large-request", file=True, most=3_145_728)


async def many_parts(parts, step):
    head = b'--bound\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n1\r\n'
    whole = head * parts + b"--bound--\r\n"
    for start in range(0, len(whole), step):
        yield whole[start : start + step]


@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_an_upload_is_one_file(site, step):
    browser = site.inside()
    form = {"content-type": 'multipart/form-data; boundary="bound"'}
    assert browser.post(UPLOAD, content=many_parts(PARTS, step), headers=form).status_code == 200
    answer = browser.post(UPLOAD, content=many_parts(PARTS + 1, step), headers=form)
    assert answer.status_code == 413
    assert prints(answer.text, "one-file-at-a-time")


def test_an_upload_that_says_it_is_too_large_is_not_read(site):
    browser = site.inside()

    async def never():
        raise AssertionError("was read")
        yield b""

    answer = browser.post(UPLOAD, content=never(), headers={**FORM, "content-length": str(LIMIT + SMALL + 1)})
    assert answer.status_code == 413


# Headers


def answers(site):
    browser, stranger = site.inside(), site.browser()
    return {
        "page": browser.get("/"),
        "asset": browser.get(ASSET),
        "not found": browser.get("/nothing"),
        "no such method": browser.request("PUT", "/fail"),
        "failure": browser.get("/fail"),
        "no such file": browser.get("/halfway"),
        "too large": browser.post("/read", content=b"x" * (SMALL + 1)),
        "foreign": browser.post("/read", headers={"origin": "null"}),
        "no session": stranger.get(ASSET),
        "asked": stranger.get("/"),
        "wrong": stranger.get("/?token=x"),
        "redirected": stranger.get("/", params={"token": site.tokens.current}),
        "other name": stranger.get("/", headers={"host": "evil.example"}),
        "ended": browser.post("/end"),
    }


def test_every_answer_tells_browsers_to_keep_it_to_themselves(site):
    for what, answer in answers(site).items():
        assert answer.headers["x-content-type-options"] == "nosniff", what
        assert answer.headers["x-frame-options"] == "DENY", what
        assert answer.headers["referrer-policy"] == "same-origin", what
        assert answer.headers["cross-origin-opener-policy"] == "same-origin", what
        assert answer.headers["cross-origin-resource-policy"] == "same-origin", what
        assert "geolocation=()" in answer.headers["permissions-policy"], what
        assert "default-src 'none'" in answer.headers["content-security-policy"], what
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"], what
        assert answer.headers["cache-control"] == ("public, immutable" if what == "asset" else "no-store"), what
        assert "access-control-allow-origin" not in answer.headers, what
        assert "strict-transport-security" not in answer.headers, what


def test_with_tls_browsers_are_told_to_stay_with_it(encrypted):
    for what, answer in answers(encrypted).items():
        assert answer.headers["strict-transport-security"] == "max-age=31536000", what


def test_the_page_loads_nothing_from_elsewhere(site):
    policy = site.inside().get("/").headers["content-security-policy"]
    sources = dict(part.split(" ", 1) for part in policy.split("; "))
    mark = re.search(r"'nonce-[\w-]+'", policy).group()
    assert sources.pop("script-src") == f"'self' {mark} 'unsafe-eval'"
    assert sources.pop("connect-src") == "'self' ws://127.0.0.1:8080"
    words = {word for source in sources.values() for word in source.split()}
    assert words == {"'none'", "'self'", "'unsafe-inline'", "data:"}
    assert sources["style-src"] == "'self' 'unsafe-inline'"


def test_scripts_in_the_page_have_a_mark_that_is_new_each_time(site):
    browser = site.inside()
    marks = set()
    for _ in range(2):
        answer = browser.get("/")
        mark = re.search(r"'nonce-([\w-]+)'", answer.headers["content-security-policy"]).group(1)
        assert answer.text.startswith(f'<script nonce="{mark}">1</script>')
        assert int(answer.headers["content-length"]) == len(answer.content)
        marks.add(mark)
    assert len(marks) == 2


def test_the_form_for_the_token_allows_its_own_style_and_script_and_no_other(site):
    answer = site.browser().get("/")
    style = re.search(r"<style>(.*?)</style>", answer.text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"style-src 'sha256-{digest}'" in policy
    [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy


def test_a_failure_shows_no_value(site, caplog):
    answer = site.inside().get("/fail")
    assert answer.status_code == 500
    assert SECRET not in answer.text
    assert [record.message for record in caplog.records] == ["the page failed"]


def test_a_page_that_is_not_there_or_fails_shows_a_message_of_shoal_alone():
    async def answered(status):
        sent = []

        async def send(message):
            sent.append(message)

        answer = Answer("/", "ws://a", False, send)
        html = [(b"content-type", b"text/html; charset=utf-8"), (b"x-nicegui-content", b"page")]
        await answer({"type": "http.response.start", "status": status, "headers": html})
        await answer({"type": "http.response.body", "body": SECRET.encode()})
        return sent[-1]["body"].decode()

    for status, code in ((404, "nothing-here"), (500, "page-failed")):
        text = asyncio.run(answered(status))
        assert prints(text, code)
        assert SECRET not in text


@pytest.mark.parametrize(
    ("path", "code", "data"),
    [
        ("/_nicegui_ws/socket.io/", "no-websocket", {}),
        ("/_nicegui/client/of-ann/upload/1", "another-window", {}),
        ("/", "too-many-windows", {"most": WINDOWS}),
    ],
)
def test_requests_for_windows_that_a_session_may_not_have_are_refused(monkeypatch, path, code, data):
    monkeypatch.setattr(windows, "_room_for_window", lambda session: False)
    assert prints(windows.Windows(None)._refused(path, "bob").body.decode(), code, **data)


def test_a_session_sends_so_many_files_at_once():
    async def refused():
        sent, page = [], windows.Windows(None)
        page._uploads["bob"] = UPLOADS

        async def send(message):
            sent.append(message)

        await page._upload("bob", {"type": "http"}, None, send)
        return sent[-1]["body"].decode()

    assert prints(asyncio.run(refused()), "too-many-uploads", most=UPLOADS)


def test_a_session_has_so_many_connections(site, monkeypatch):
    browser = site.inside()
    monkeypatch.setattr("shoal.app.security.middleware._admitted", lambda asked: False)
    answer = browser.get("/")
    assert answer.status_code == 429
    assert prints(answer.text, "too-many-connections")
