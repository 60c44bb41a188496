"""What the guard says itself, and the headers of whatever is said."""

import base64
import hashlib
import re
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from shoal.messages import Message

# NiceGUI's own files have its version in their path. They hold no data, so a browser may keep them.
_ASSET = re.compile(r"/_nicegui/[0-9][^/]*/(?!dynamic_resources/)")

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem;color:#1d2730;"
    "background:#fff}h1{font-size:1.4rem}input,button{font:inherit;padding:.5rem .75rem;border:1px solid #5f6b76;"
    "border-radius:4px}input{width:100%;box-sizing:border-box;margin:.25rem 0 .75rem}"
    "button{background:#0b5c8a;color:#fff;border-color:#0b5c8a}.wrong{color:#a3160f;font-weight:600}"
    "@media(prefers-color-scheme:dark){body{background:#14191d;color:#e3e8ec}input{background:#1d2429;color:inherit}"
    ".wrong{color:#ff9d94}}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# Leads a new window of a browser to the session that it has, whose address no cookie may tell. What a browser stores
# itself is for one port alone, unlike cookies.
_BACK = (
    'const kept=localStorage.getItem("shoal"),'
    'root=document.querySelector("form").getAttribute("action").slice(0,-5);'
    'if(kept&&location.pathname===root&&kept.startsWith(root+"session/"))location.replace(kept);'
    'else if(kept&&location.pathname.startsWith(kept))localStorage.removeItem("shoal")'
)
_BACK_HASH = base64.b64encode(hashlib.sha256(_BACK.encode()).digest()).decode()
KEEP = '<script>localStorage.setItem("shoal",location.pathname.replace(/(\\/session\\/[^/]+\\/).*/,"$1"))</script>'
_TOKEN_PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Shoal: token</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body><main><h1>Shoal asks for a token</h1>{{wrong}}
<p>The terminal where <code>shoal app</code> was started shows a link that ends with a token. Open that link, or enter
the token here. A token opens one browser; after that, the terminal shows another.</p>
<form method="post" action="{{root}}/token"><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" required autofocus>
<button>Open the page</button></form></main><script>{_BACK}</script></body></html>
"""
_END_PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Shoal: ended</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body><main><h1>The session has ended</h1>
<p>What was uploaded and made in it is erased. The terminal shows the link for another session.</p></main></body></html>
"""

_OPENING_PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Shoal</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>
<body><main><h1>Opening Shoal</h1></main></body></html>
"""

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not 'no-referrer': a browser would then hide the origin of forms of the page from the page's own server.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_OWN_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; script-src 'sha256-{_BACK_HASH}'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def page_policy(mark: str, socket: str) -> str:
    """List what the page may load: nothing from elsewhere, and no script in the page but those that have the mark.

    Vue makes functions of its templates while the page runs, and NiceGUI writes styles into the page: hence the two
    unsafe words.
    """
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{mark}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        f"font-src 'self'; img-src 'self' data:; connect-src 'self' {socket}; form-action 'self'; "
        "base-uri 'none'; object-src 'none'; frame-src 'none'; frame-ancestors 'none'"
    )


def secure(headers: MutableHeaders, path: str, status: int, policy: str, encrypted: bool) -> None:
    """Add what tells a browser to keep the page to itself."""
    headers.update(_HEADERS)
    if "Content-Security-Policy" not in headers:
        headers["Content-Security-Policy"] = policy
    if status != 200 or _ASSET.match(path) is None:
        headers["Cache-Control"] = "no-store"
    if encrypted:
        headers["Strict-Transport-Security"] = "max-age=31536000"
    for name in [name for name in headers if name.startswith("access-control-")]:
        del headers[name]  # socket.io would let every site in


def ask_for_token(status: int, root: str, code: str = "", **data: Any) -> Response:
    """Ask for the token, with a message on the one that was given."""
    wrong = f'<p class="wrong" role="alert">{Message(code, **data).text("page")}</p>' if code else ""
    page = _TOKEN_PAGE.replace("{root}", root).replace("{wrong}", wrong)
    return HTMLResponse(page, status, {"Content-Security-Policy": _OWN_POLICY})


def opening() -> Response:
    """Respond that the page comes at once."""
    return HTMLResponse(_OPENING_PAGE, headers={"Content-Security-Policy": _OWN_POLICY})


def ended() -> Response:
    """Respond that a session is over."""
    return HTMLResponse(_END_PAGE, headers={"Content-Security-Policy": _OWN_POLICY})


def refusal(status: int, code: str, **data: Any) -> Response:
    """Respond with a message."""
    return PlainTextResponse(f"{Message(code, **data).text('page')}\n", status)
