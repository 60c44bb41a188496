"""A page behind the guard, and browsers before it."""

import asyncio

import httpx
from starlette.applications import Starlette
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocketDisconnect

from shoal.app.security.address import Address
from shoal.app.security.middleware import Guard
from shoal.app.security.tokens import Tokens

LIMIT = 3 << 20
UPLOAD = "/_nicegui/client/3f2a/upload/7"
ASSET = "/_nicegui/3.18.0/static/nicegui.js"
SECRET = "4711-income-of-a-person"


async def page(request):
    headers = {"X-NiceGUI-Content": "page", "Cache-Control": "public"}
    return HTMLResponse(f"<script>1</script><p>{request.state.shoal_session}</p>", headers=headers)


async def asset(request):
    return Response("js", headers={"Cache-Control": "public, immutable", "Access-Control-Allow-Origin": "*"})


async def read(request):
    return PlainTextResponse(str(len(await request.body())))


async def upload(request):
    async with request.form() as form:
        return PlainTextResponse(str(form["file"].size))


async def fail(request):
    raise ValueError(SECRET)


async def halfway(request):
    return FileResponse("/nowhere")


async def echo(socket):
    await socket.accept()
    try:
        while True:
            await socket.send_text(f"{socket.state.shoal_session} {await socket.receive_text()}")
    except WebSocketDisconnect:
        pass


PAGE = Starlette(
    routes=[
        Route("/", page),
        Route(ASSET, asset),
        Route("/read", read, methods=["POST"]),
        Route(UPLOAD, upload, methods=["POST"]),
        Route("/fail", fail),
        Route("/halfway", halfway),
        WebSocketRoute("/_nicegui_ws/socket.io/", echo),
    ]
)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Browser:
    """What a browser does, but for what it does by itself."""

    def __init__(self, guard):
        self.guard = guard
        self.host = f"127.0.0.1:{guard.address.port}"
        self.cookies = httpx.Cookies()
        self.at = guard.address.root  # the address of the session, once there is one
        self.sender = ("127.0.0.1", 12345)

    def request(self, method, path, **options):
        async def ask():
            way = httpx.ASGITransport(self.guard, client=self.sender)
            url = f"{self.guard.address.scheme}://{self.host}"
            async with httpx.AsyncClient(transport=way, base_url=url, cookies=self.cookies) as client:
                answer = await client.request(method, f"{self.at}{path}", **options)
                self.cookies = client.cookies
                return answer

        answer = asyncio.run(ask())
        if answer.status_code == 303:
            self.at = answer.headers["location"].rstrip("/")
        return answer

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    @property
    def session(self):
        """The name of the session, which stands in its address."""
        return self.at.rpartition("/session/")[2]

    @property
    def key(self):
        """What the cookie holds."""
        return self.cookies.get(self.guard.cookie)

    @key.setter
    def key(self, value):
        self.cookies.clear()
        self.cookies.set(self.guard.cookie, value)

    def connect(self, *steps, query=b"", **headers):
        """Open a socket, send texts and do other things in between; gives what was answered."""
        headers = {"host": self.host, "cookie": f"{self.guard.cookie}={self.key}", **headers}
        scope = {
            "type": "websocket",
            "scheme": "ws",
            "path": f"{self.at}/_nicegui_ws/socket.io/",
            "query_string": query,
            "client": self.sender,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }

        async def talk():
            asked, said = asyncio.Queue(), asyncio.Queue()
            task = asyncio.create_task(self.guard(scope, asked.get, said.put))
            await asked.put({"type": "websocket.connect"})
            answers = [await said.get()]
            for step in steps:
                if callable(step):
                    step()
                else:
                    await asked.put({"type": "websocket.receive", "text": step})
                    answers.append(await said.get())
            await asked.put({"type": "websocket.disconnect", "code": 1001})
            await task
            return [message.get("text") or message.get("code") or message["type"] for message in answers]

        return asyncio.run(asyncio.wait_for(talk(), 10))


class Site:
    """A guarded page, its tokens, and what they have said."""

    def __init__(self, address, proxy=None):
        self.clock, self.announced, self.forgotten = Clock(), [], []
        self.tokens = Tokens(self.announced.append, self.forgotten.append, self.clock)
        self.address = address
        self.guard = Guard(PAGE, self.tokens, address, LIMIT, proxy)

    def browser(self):
        return Browser(self.guard)

    def inside(self):
        """A browser that has brought the token."""
        browser = self.browser()
        assert browser.get("/", params={"token": self.tokens.current}).status_code == 303
        return browser


def plain():
    return Site(Address("127.0.0.1", 8080, secure=False))


def with_tls():
    return Site(Address("127.0.0.1", 8443, secure=True))
