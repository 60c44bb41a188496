"""The guard before the page: who gets in, and by which name."""

import asyncio

import pytest
from tests.expect import prints

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

from tests.app.guarded import ASSET, UPLOAD, Site, plain, with_tls

from shoal.app.security.address import Address, public_address
from shoal.app.security.limits import HEADERS, SESSIONS
from shoal.app.security.proxy import Proxy, networks
from shoal.app.security.tokens import IDLE, TRIES


@pytest.fixture
def site():
    return plain()


@pytest.fixture
def encrypted():
    return with_tls()


# Tokens and sessions


def test_the_link_opens_a_session_and_leaves_the_address_bar(site):
    browser = site.browser()
    answer = browser.get("/", params={"token": site.tokens.current})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/session/{browser.session}/")
    assert f"<p>{browser.session}</p>" in browser.get("/").text


def test_the_token_may_be_typed_in(site):
    browser = site.browser()
    answer = browser.post("/token", data={"token": f" {site.tokens.current} "})
    assert answer.status_code == 303
    assert browser.get("/").status_code == 200


def test_a_token_opens_one_session_and_the_next_is_announced(site):
    token = site.tokens.current
    site.inside()
    assert site.announced == [site.tokens.current] != [token]
    replayed = site.browser().get("/", params={"token": token})
    assert replayed.status_code == 403
    assert "was used before" in replayed.text
    assert "set-cookie" not in replayed.headers
    assert site.browser().get("/", params={"token": site.announced[0]}).status_code == 303


def test_two_browsers_have_two_sessions(site):
    assert site.inside().get("/").text != site.inside().get("/").text


@pytest.mark.parametrize("token", ["", "wrong", "ä€\udc80", "x" * 10_000])
def test_a_wrong_token_is_refused(site, token):
    answer = site.browser().post("/token", content=b"token=" + token.encode("utf-8", "surrogateescape"))
    assert answer.status_code == 403
    assert site.announced == []


def test_the_cookie_is_for_this_page_alone(site, encrypted):
    for where, port, flags in ((site, 8080, set()), (encrypted, 8443, {"secure"})):
        answer = where.browser().get("/", params={"token": where.tokens.current})
        cookie, *given = answer.headers["set-cookie"].lower().split("; ")
        assert cookie.startswith(f"shoal_session_{port}=")
        path = answer.headers["location"].lower()
        assert set(given) == {"httponly", f"path={path}", "samesite=strict"} | flags


def test_whoever_guesses_is_told_to_wait_and_the_owner_never(site):
    browser = site.browser()
    for _ in range(TRIES - 1):
        assert browser.get("/?token=guess").status_code == 403
        site.clock.now += 1
    answer = browser.get("/?token=guess")
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "51"
    assert prints(answer.text, "too-many-tokens", seconds=51)
    assert browser.get("/", params={"token": site.tokens.current}).status_code == 303
    site.clock.now += 60
    assert site.browser().get("/?token=guess").status_code == 403


def test_without_a_session_there_is_a_form_and_nothing_else(site):
    browser = site.browser()
    asked = browser.get("/")
    assert asked.status_code == 401
    assert 'action="/token"' in asked.text
    for method, path in (("GET", ASSET), ("GET", "/fail"), ("POST", UPLOAD), ("POST", "/"), ("POST", "/end")):
        assert browser.request(method, path).status_code == 401, path
    browser.key = "made-up"
    assert browser.get(ASSET).status_code == 401


def test_whoever_follows_a_link_from_another_site_gets_in_at_the_second_knock(site):
    # The browser holds a strict cookie back until the page itself asks.
    browser = site.browser()
    navigation = {"sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site"}
    assert browser.get("/", headers=navigation).headers["refresh"] == "0; url=/"
    assert "refresh" not in browser.get("/", headers={**navigation, "sec-fetch-site": "same-origin"}).headers
    browser.at = "/session/a%0d%0aset-cookie:%20b=c"
    assert browser.get("/assess", headers=navigation).headers["refresh"] == (
        "0; url=/session/a%0D%0Aset-cookie%3A%20b%3Dc/assess"
    )


@pytest.mark.parametrize("where", ["//elsewhere.example/x", "///elsewhere.example", "/\\elsewhere.example"])
def test_nobody_is_led_to_another_site(site, where):
    headers = {"host": "127.0.0.1:8080", "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site"}
    scope = {"path": where, "type": "http", "method": "GET", "query_string": b"", "client": ("127.0.0.1", 1)}
    begun = asked_raw(site, {**scope, "headers": [(name.encode(), value.encode()) for name, value in headers.items()]})
    [refresh] = [value.decode() for name, value in begun["headers"] if name == b"refresh"]
    assert refresh.startswith("0; url=/")
    assert refresh[len("0; url=/")] not in "/\\"


def asked_raw(site, scope):
    """Ask for a path that a client library would change, and return how the answer begins."""
    said = []

    async def send(message):
        said.append(message)

    asyncio.run(site.guard(scope, None, send))
    return said[0]


@pytest.mark.parametrize("origin", ["same-site", "cross-site"])
def test_another_page_leads_nobody_into_a_session(site, origin):
    # Another program on the machine can set the cookie of its own session, and lead a browser there.
    browser = site.inside()
    led = {"sec-fetch-mode": "navigate", "sec-fetch-site": origin}
    answer = browser.get("/", headers=led)
    assert (answer.status_code, answer.headers["refresh"]) == (401, "0; url=/")
    assert browser.session not in answer.text
    assert browser.get("/", headers={**led, "sec-fetch-site": "same-origin"}).status_code == 200
    assert browser.get("/", headers={**led, "sec-fetch-site": "none"}).status_code == 200


@pytest.mark.parametrize("origin", ["same-site", "cross-site"])
def test_a_link_with_the_token_may_stand_on_another_page(site, origin):
    browser = site.browser()
    led = {"sec-fetch-mode": "navigate", "sec-fetch-site": origin}
    answer = browser.get("/", params={"token": site.tokens.current}, headers=led)
    assert answer.status_code == 200
    browser.at = answer.headers["refresh"].removeprefix("0; url=").rstrip("/")
    assert browser.get("/", headers={**led, "sec-fetch-site": "same-origin"}).status_code == 200


def test_a_request_that_says_twice_how_long_it_is_is_refused(site):
    twice = {"content-length": "5", "transfer-encoding": "chunked"}
    answer = site.inside().post("/read", content=b"12345", headers=twice)
    assert (answer.status_code, answer.headers["connection"]) == (400, "close")


def test_a_session_ends_when_asked_to(site):
    browser = site.inside()
    session, key = browser.session, browser.key
    answer = browser.post("/end")
    assert answer.status_code == 200
    assert "session has ended" in answer.text
    assert site.forgotten == [session]
    browser.key = key
    assert browser.get("/").status_code == 401


def test_a_session_nobody_uses_ends_but_not_one_with_an_open_page(site):
    idle, busy = site.inside(), site.inside()
    session = idle.session

    def time_passes():
        site.clock.now += IDLE - 1
        site.tokens.end_idle()
        assert site.forgotten == []
        site.clock.now += 1
        site.tokens.end_idle()
        assert site.forgotten == [session]

    assert busy.connect(time_passes, "here")[-1] == f"{busy.session} here"
    site.clock.now += IDLE - 1  # since the page was closed
    site.tokens.end_idle()
    assert busy.get("/").status_code == 200


# Sockets


def test_a_socket_needs_a_session(site):
    assert site.browser().connect() == [4401]
    browser = site.inside()
    assert browser.connect("hello") == ["websocket.accept", f"{browser.session} hello"]


def test_a_socket_of_another_site_or_name_is_refused(site):
    browser = site.inside()
    for origin in ("http://evil.example", "http://127.0.0.1:9999", "https://127.0.0.1:8080", "null"):
        assert browser.connect(origin=origin) == [4403]
    assert browser.connect(host="evil.example:8080") == [4403]
    assert browser.connect(origin="http://127.0.0.1:8080") == ["websocket.accept"]


def test_a_socket_is_cut_when_its_session_ends(site):
    browser = site.inside()
    assert browser.connect("hello", lambda: site.tokens.end(browser.session), "still here")[-1] == 4401


# Names and origins


@pytest.mark.parametrize("host", ["evil.example:8080", "127.0.0.1", "127.0.0.1:9999", "a@127.0.0.1:8080", "", "[::1"])
def test_a_name_that_is_not_the_servers_is_refused(site, host):
    answer = site.browser().get("/", params={"token": site.tokens.current}, headers={"host": host})
    assert answer.status_code == 421
    assert site.announced == []


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"])
def test_the_machine_has_three_names_for_itself(site, host):
    assert site.browser().get("/", headers={"host": host}).status_code == 401


@pytest.mark.parametrize(
    ("host", "secure", "own", "foreign"),
    [
        ("stat.example.org", True, ["stat.example.org:443", "stat.example.org"], ["127.0.0.1:443", "example.org:443"]),
        ("10.1.2.3", False, ["10.1.2.3:443"], ["10.1.2.3", "10.1.2.4:443", "evil.example:443"]),
        ("0.0.0.0", False, ["10.1.2.3:443", "localhost:443", "[fe80::1]:443"], ["evil.example:443"]),
        # with TLS, another site's name does not match the certificate
        ("::", True, ["10.1.2.3", "stat.example.org"], ["stat.example.org:80"]),
    ],
)
def test_other_hosts_are_known_by_the_name_they_were_given(host, secure, own, foreign):
    address = Address(host, 443, secure)
    assert [name for name in own + foreign if address.is_own(name)] == own


def test_a_form_or_script_of_another_site_is_refused(site):
    browser = site.inside()
    for origin in ("http://evil.example", "https://127.0.0.1:8080", "http://127.0.0.1:9999", "null"):
        assert browser.post("/read", content=b"x", headers={"origin": origin}).status_code == 403
        assert browser.post("/end", headers={"origin": origin}).status_code == 403
    assert browser.post("/read", content=b"x", headers={"origin": "http://127.0.0.1:8080"}).text == "1"
    for place in ("cross-site", "same-site"):
        assert browser.get(ASSET, headers={"sec-fetch-site": place, "sec-fetch-mode": "no-cors"}).status_code == 403
        assert (
            browser.get("/", headers={"sec-fetch-site": place, "sec-fetch-mode": "navigate"}).status_code == 401
        )  # as the page, a second time
    assert site.forgotten == []


def test_a_picture_on_another_site_cannot_use_up_the_tries(site):
    browser = site.browser()
    for _ in range(TRIES + 1):
        headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
        assert browser.get("/?token=guess", headers=headers).status_code == 403
    assert browser.get("/", params={"token": site.tokens.current}).status_code == 303


def test_twelve_hidden_frames_of_another_site_neither_count_nor_open_anything(site):
    browser, token = site.browser(), site.tokens.current
    for dest in ("iframe", "frame", "embed", "object"):
        frame = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": dest}
        for guess in ["guess"] * 12 + [token]:
            assert browser.get("/", params={"token": guess}, headers=frame).status_code == 403
    assert site.tokens.wait() == 0
    window = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert "set-cookie" in browser.get("/", params={"token": token}, headers=window).headers


def test_a_socket_that_goes_on_as_another_is_refused(site):
    browser = site.inside()
    assert browser.connect(query=b"EIO=4&sid=another") == [4403]
    assert browser.connect(query=b"EIO=4") == ["websocket.accept"]


def test_only_so_many_sessions_and_the_token_is_kept_for_later(site):
    for _ in range(SESSIONS):
        last = site.inside()
    token = site.tokens.current
    refused = site.browser().get("/", params={"token": token})
    assert (refused.status_code, site.tokens.current) == (503, token)
    last.post("/end")
    assert site.browser().get("/", params={"token": token}).status_code == 303


def test_headers_are_bounded(site):
    answer = site.browser().get("/", headers={f"x{each}": "x" * 1000 for each in range(HEADERS // 1000 + 1)})
    assert answer.status_code == 431


# Behind a proxy

SECRET = "s" * 32
ADDRESS = public_address("https://stat.example.org/shoal")


def proxied(networks_="10.0.0.2", header="x-remote-user", secret=SECRET):
    """A page behind a proxy at 10.0.0.2, which names the users."""
    return Site(ADDRESS, Proxy(networks(networks_), header, secret))


def through(site, sender="10.0.0.2", host="stat.example.org"):
    browser = site.browser()
    browser.sender, browser.host = (sender, 1), host
    return browser


def told(user="ann", secret=SECRET):
    return {"x-remote-user": user, "x-shoal-proxy": secret}


def test_the_user_whom_the_proxy_names_has_one_session_and_no_token():
    site = proxied()
    ann, again, bob = (through(site) for _ in range(3))
    entered = ann.get("/", headers=told())
    assert entered.status_code == 303
    assert entered.headers["location"] == f"/shoal/session/{ann.session}/"
    assert {"Secure", f"Path=/shoal/session/{ann.session}/"} <= set(entered.headers["set-cookie"].split("; "))
    assert ann.get("/", headers=told()).text.endswith(f"<p>{ann.session}</p>")
    assert again.get("/", headers=told()).status_code == bob.get("/", headers=told("bob")).status_code == 303
    assert again.session == ann.session != bob.session
    assert site.announced == []
    assert through(site).get("/", params={"token": site.tokens.current}, headers=told("eve")).status_code == 303
    assert site.announced == []  # tokens open nothing here


def test_nobody_takes_another_users_session_even_with_its_secrets():
    site = proxied()
    ann = through(site)
    ann.get("/", headers=told())
    assert ann.get("/", headers=told("eve")).status_code == 401
    assert ann.connect(**told("eve")) == [4401]
    assert ann.connect(**told()) == ["websocket.accept"]


@pytest.mark.parametrize(
    ("sender", "headers"),
    [
        ("10.0.0.3", told()),  # not the proxy
        ("127.0.0.1", told()),
        ("10.0.0.2", told(secret="guess")),  # another program on the machine of the proxy
        ("10.0.0.2", {"x-remote-user": "ann"}),
        ("10.0.0.2", {"x-shoal-proxy": SECRET}),  # nobody is named
        ("10.0.0.2", told(user="")),
        ("10.0.0.2", told(user="x" * 300)),
        ("10.0.0.2", [(b"x-remote-user", b"ann\xa0"), (b"x-shoal-proxy", SECRET.encode())]),  # not ann
        ("10.0.0.2", [(b"x-remote-user", b"\x85ann"), (b"x-shoal-proxy", SECRET.encode())]),
        ("10.0.0.2", [*told().items(), ("x-remote-user", "eve")]),  # two are
        ("10.0.0.2", [*told().items(), ("x-shoal-proxy", "guess")]),
    ],
)
def test_headers_are_believed_of_the_proxy_alone(sender, headers):
    site = proxied()
    browser = through(site, sender)
    assert browser.get("/", headers=headers).status_code == 403
    assert "set-cookie" not in browser.get("/", headers=headers).headers


def test_a_proxy_that_names_nobody_passes_tokens_on():
    site = proxied(header="", secret="")
    browser = through(site, "::ffff:10.0.0.2")
    assert browser.get("/", headers={"x-remote-user": "ann"}).status_code == 401
    assert 'action="/shoal/token"' in browser.get("/").text
    assert browser.post("/token", data={"token": site.tokens.current}).status_code == 303
    assert browser.get("/").status_code == 200
    assert through(site, "10.0.0.3").get("/", params={"token": site.tokens.current}).status_code == 403


def test_behind_a_proxy_the_public_name_and_path_are_asked_for():
    site = proxied(networks_="10.0.0.0/24, 127.0.0.1")
    assert through(site, host="127.0.0.1:8080").get("/", headers=told()).status_code == 421
    browser = through(site, "10.0.0.77")
    browser.at = ""
    assert browser.get("/", headers=told()).status_code == 401  # it is below /shoal
    assert browser.get("/health", headers={"host": "127.0.0.1"}).text == "ok\n"
