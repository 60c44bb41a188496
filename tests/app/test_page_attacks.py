"""Attacks on the page over real sockets: on other sessions' windows, with half of the secrets, and on the server."""

import asyncio
import contextlib
import html
import json
import re
import select
import socket
import threading

import pytest

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

import httpx
from tests.app.test_endpoints import Session, _until
from tests.expect import prints
from websockets.exceptions import ConnectionClosed

from shoal.app.security.connections import Connections
from shoal.app.security.limits import HEADERS, STRANGERS, UPLOADS, WINDOWS
from shoal.messages import Message

CLIENT = re.compile(r"client_id['\"]?:\s*['\"]([0-9a-f-]{36})")
SECRET = "The file did not arrive"  # what Ann's page says, and no other


@pytest.fixture(scope="module")
def ann(served):
    return Session(served.link)


@pytest.fixture(scope="module")
def eve(served, ann):
    return Session(served.link)


def opened(session):
    """Open a window with its socket, and write the message by which its page says that a file did not arrive."""
    page = session.http.get("/").text
    session.client = CLIENT.search(page)[1]
    elements = json.loads(html.unescape(re.search(r"parseElements\(String\.raw`(.*?)`\)", page, re.DOTALL)[1]))
    number, upload = next((id_, each) for id_, each in elements.items() if each["tag"] == "nicegui-upload")
    listener = next(each["listener_id"] for each in upload["events"] if each["type"] == "failed")
    line = session.socket().__enter__()  # closed by whoever asked for it
    line.send("40")
    _until(lambda: line.recv(timeout=300).startswith("40"), "the socket was not taken")
    return line, {"client_id": session.client, "id": int(number), "listener_id": listener, "args": []}


def stay(line):
    """Answer the server's questions whether a browser is still there."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            if line.recv() == "2":
                line.send("3")


def until_cut(line):
    """Read what a socket says until the server closes it."""
    try:
        while not line.recv(timeout=300).startswith("41"):  # socket.io's word for the end
            pass
    except ConnectionClosed:
        pass


def test_a_message_to_another_sessions_window_is_refused_and_the_socket_closed(ann, eve):
    anns, event = opened(ann)
    eves, _ = opened(eve)
    with anns, eves:
        eves.send(f"42{json.dumps(['event', event])}")  # Eve knows all ids of Ann's window
        until_cut(eves)
        assert SECRET not in ann.http.get("/").text
        anns.send(f"42{json.dumps(['event', event])}")  # and Ann may
        _until(lambda: SECRET in ann.http.get("/").text, "the message of the window itself is lost")


def test_a_message_with_a_name_of_the_servers_own_takes_nobody_to_another_window(ann, eve):
    ann.open()
    query = f"client_id={ann.client}&implicit_handshake=true&tab_id=t&document_id=d"
    claim = {"client_id": ann.client, "tab_id": "t", "document_id": "d"}
    with opened(eve)[0] as line:
        line.send(f"42{json.dumps(['connect', {'QUERY_STRING': query}])}")
        line.send(f"421{json.dumps(['handshake', claim])}")
        until_cut(line)
    with ann.socket() as line:  # whose window is still as free as a new one
        line.send("40")
        _until(lambda: line.recv(timeout=300).startswith("40"), "somebody else has taken the window")


def test_a_file_for_another_sessions_window_is_refused(ann, eve):
    ann.open()
    files = {"file": ("eve.csv", b"of_eve,b\n1,2\n3,4\n", "text/csv")}
    answer = eve.http.post(ann.upload, files=files)
    assert answer.status_code == 403
    assert prints(answer.text, "another-window")
    assert SECRET in ann.http.get("/").text


def test_a_socket_for_another_sessions_window_is_refused(ann, eve):
    ann.open()
    own, eve.client = eve.client, ann.client
    try:
        with eve.socket() as line:
            line.send("40")
            said = [line.recv(timeout=300) for _ in range(2)]
    finally:
        eve.client = own
    assert said[1].startswith("44")  # socket.io's word for a connection that is refused
    assert SECRET not in "".join(said)


def test_neither_cookie_nor_address_opens_a_session_alone(ann, eve):
    stolen = {"cookie": ann.cookie}  # as another program on this machine may get it from the browser
    for path in ("/", "/download/masked", ann.upload, f"{eve.at}/", f"{eve.at}{ann.upload}"):
        answer = httpx.get(f"{ann.outside.rstrip('/')}{path}", headers=stolen, timeout=300)
        assert (answer.status_code, SECRET in answer.text) == (401, False), path
    for cookie in ({}, {"cookie": eve.cookie}):
        answer = httpx.get(f"{ann.outside.rstrip('/')}{ann.at}/", headers=cookie, timeout=300)
        assert (answer.status_code, SECRET in answer.text) == (401, False)


def test_a_cookie_that_another_program_sets_takes_nobodys_place(ann, eve):
    for cookies in (f"{ann.cookie}; {eve.cookie}", f"{eve.cookie}; {ann.cookie}"):
        answer = httpx.get(f"{ann.outside.rstrip('/')}{ann.at}/", headers={"cookie": cookies}, timeout=300)
        assert SECRET in answer.text


def test_headers_of_a_proxy_are_believed_from_nobody(ann):
    told = {"x-forwarded-prefix": "//evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "https"}
    assert "evil.example" not in ann.http.get("/", headers=told).text


def test_a_socket_that_goes_on_as_another_and_one_without_websockets_are_refused(ann):
    answer = ann.http.get("/_nicegui_ws/socket.io/", params={"EIO": "4", "transport": "polling"})
    assert answer.status_code == 400
    assert "WebSocket" in answer.text


# Limits


def test_a_session_has_so_many_windows_and_those_that_nobody_sees_go_first(served, ann):
    eve, lines = Session(served.link), []
    try:
        for _ in range(WINDOWS):
            lines.append(opened(eve)[0])
            threading.Thread(target=stay, args=[lines[-1]], daemon=True).start()
        _until(lambda: eve.http.get("/").status_code == 429, "there is always room for one more window")
        assert eve.http.get("/").text == (f"{Message('too-many-windows', most=WINDOWS)}\n")
        assert eve.http.get(f"{eve.asset}static/nicegui.js").status_code == 200
    finally:
        for line in lines:
            line.close()
    _until(lambda: eve.http.get("/").status_code == 200, "closed windows are not forgotten")
    for _ in range(2 * WINDOWS):
        assert eve.http.get("/").status_code == 200


def upload_head(session, length):
    lines = [
        f"POST {session.at}{session.upload} HTTP/1.1",
        f"Host: {session.http.base_url.netloc.decode()}",
        f"Cookie: {session.cookie}",
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def test_requests_for_parts_of_a_page_close_no_window(served, ann):
    eve = Session(served.link)
    pages = [eve.http.get("/").text for _ in range(WINDOWS - 1)]  # all of them unseen
    for _ in range(2 * WINDOWS):
        assert eve.http.get(f"{eve.asset}static/nicegui.js").status_code == 200
    for page in pages:
        eve.client = CLIENT.search(page)[1]
        with eve.socket() as line:
            line.send("40")
            _until(lambda line=line: line.recv(timeout=300).startswith("40"), "a window is gone")


def test_a_session_sends_so_many_files_at_a_time(served, ann):
    eve = Session(served.link)
    where = (eve.http.base_url.host, eve.http.base_url.port)
    begun = [socket.create_connection(where) for _ in range(UPLOADS + 1)]
    try:
        for line in begun:
            line.sendall(upload_head(eve, 1000) + b"--x\r\n")
        answered = select.select(begun, [], [], 300)[0]
        assert [line.recv(13) for line in answered] == [b"HTTP/1.1 429 "]  # whichever came last
    finally:
        for line in begun:
            line.close()
    files = {"file": ("a.csv", b"a,b\n1,2\n", "text/csv")}
    _until(lambda: eve.http.post(eve.upload, files=files).status_code == 200, "files that broke off are still counted")


def test_headers_without_end_are_refused(ann):
    where = (ann.http.base_url.host, ann.http.base_url.port)
    with socket.create_connection(where) as line:
        line.settimeout(300)
        line.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * (HEADERS + 1))
        assert line.recv(100).startswith(b"HTTP/1.1 400 ")
    answer = ann.http.get("/", headers={"x": "x" * HEADERS})
    assert answer.status_code in (400, 431)  # as it arrives in pieces, or at once


def test_strangers_who_never_finish_a_request_keep_nobody_out(ann):
    """Slow loris: many connections, each with half of a request."""
    where = (ann.http.base_url.host, ann.http.base_url.port)
    slow = []
    try:
        for _ in range(2 * STRANGERS):
            slow.append(socket.create_connection(where))
            slow[-1].sendall(b"GET / HTTP/1.1\r\nX-a: b\r\n")
        answer = httpx.get(f"{ann.outside.rstrip('/')}{ann.at}/", headers={"cookie": ann.cookie}, timeout=300)
        assert SECRET in answer.text
        assert sum(map(is_closed, slow)) >= STRANGERS
    finally:
        for line in slow:
            line.close()


def is_closed(line):
    line.settimeout(0.01)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_the_connections_of_one_session_are_counted():
    async def talk():
        connections, made = Connections(strangers=2, patience=3600, of_a_session=2), []
        kept = []

        class Opened(asyncio.Protocol):
            def connection_made(self, transport):
                made.append(transport)
                connections.opened(transport)

        loop = asyncio.get_running_loop()
        server = await loop.create_server(Opened, "127.0.0.1", 0)
        where = server.sockets[0].getsockname()
        for number in range(1, 6):
            kept.append(await asyncio.open_connection(*where))
            while len(made) < number:
                await asyncio.sleep(0.001)
            if number < 4:
                assert connections.admit(made[-1], "eve") == (number < 3)
        assert connections.admit(made[0], "eve")  # which is counted already
        assert [each.is_closing() for each in made] == [False, False, True, False, False]  # the oldest stranger's
        assert connections.admit(made[3], "ann")
        for each in made:
            each.abort()
        assert connections.admit(made[4], "eve")  # those that are closed do not count
        server.close()

    asyncio.run(talk())


def test_health_is_answered_to_everybody_and_tells_nothing(ann):
    answer = httpx.get(f"{ann.outside}health", headers={"host": "localhost"}, timeout=300)
    assert (answer.status_code, answer.text) == (200, "ok\n")
