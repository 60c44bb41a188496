"""Fifty users at once over real sockets, with half-open connections beside them and a worker that is killed."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the page needs the extra 'app'")

import httpx
from tests.app.clients import SECRET, Client, free_port
from tests.app.test_load import MIB, family, memory
from tests.app.test_service import app, until_healthy

from shoal.app.security.limits import STRANGERS
from shoal.messages import Message

CLIENTS = 50


class Crowd:
    """What the users see, and what is done to them."""

    def __init__(self, url: str, server: int) -> None:
        self.url, self.server = url, server
        self.told: list[int] = []
        self.waits: list[float] = []
        self.most = 0
        self.done = threading.Event()

    def user(self, number: int) -> str:
        """Take the way from a file to its release; gives the first line of the masked file."""
        client = Client(self.url, f"user {number}")
        rows = "".join(f"{each % 40},{each * each % 97}\n" for each in range(200))
        assert client.upload(f"{number}.csv", f"mine_{number:02},age\n{rows}".encode()).status_code == 200

        def again(page: str) -> None:
            if str(Message("work-stopped")) in page and number not in self.told:
                self.told.append(number)
                if "Open the table to protect" in page:
                    client.upload(f"{number}.csv", f"mine_{number:02},age\n{rows}".encode())
                else:
                    client.click("Protect")

        client.until("What are the attributes?", again)
        client.click("Next: protection")
        client.until("Protect")
        client.click("Protect")
        page = client.until("The release", again)
        others = {int(each) for each in re.findall(r"mine_(\d\d)", page + client.get("/download/report").text)}
        assert others == {number}
        return client.get("/download/masked").text.splitlines()[0]

    def loiter(self) -> None:
        """Keep as many half-open connections as are tolerated, and measure how long others wait for an answer."""
        host, port = re.search(r"//(.*?):(\d+)", self.url).groups()
        slow: list[socket.socket] = []
        while not self.done.wait(0.5):
            self.most = max(self.most, memory(self.server) // MIB)
            slow = slow[-STRANGERS:]
            for _ in range(20):
                slow.append(socket.create_connection((host, int(port))))
                slow[-1].sendall(b"GET / HTTP/1.1\r\nX-a: b\r\n")
            began = time.perf_counter()
            assert httpx.get(f"{self.url}health", timeout=300).text == "ok\n"
            self.waits.append(time.perf_counter() - began)

    def kill(self) -> None:
        """Kill the oldest worker, until it was one that somebody has waited for."""
        while not self.told and not self.done.wait(5):
            workers = family(self.server)[1:]
            if len(workers) > (os.cpu_count() or 1):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(workers[0], signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_fifty_users_over_real_sockets(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    command = [str(each) for each in app(port, url, secret)]
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL) as server:
        try:
            until_healthy(f"{url}health", server)
            crowd = Crowd(url, server.pid)
            before, began = memory(server.pid) // MIB, time.perf_counter()
            beside = [threading.Thread(target=each) for each in (crowd.loiter, crowd.kill)]
            for each in beside:
                each.start()
            try:
                with ThreadPoolExecutor(CLIENTS) as pool:
                    heads = list(pool.map(crowd.user, range(CLIENTS)))
            finally:
                crowd.done.set()
                for each in beside:
                    each.join()
            after = memory(server.pid) // MIB
        finally:
            server.terminate()
    waits = sorted(crowd.waits)
    print(
        f"{CLIENTS} users in {time.perf_counter() - began:.0f} s; memory of the server {before} MiB before, "
        f"{crowd.most} at most, {after} after; {20 * len(waits)} half-open connections, with which /health took "
        f"{waits[len(waits) // 2]:.3f} s in the middle and {waits[-1]:.3f} s at most; "
        f"told of a killed worker: {crowd.told}"
    )
    assert heads == [f"mine_{number:02},age" for number in range(CLIENTS)]
    assert crowd.told
    assert crowd.most - before < 400
    assert server.returncode == 0
    assert list(temporary.iterdir()) == []
