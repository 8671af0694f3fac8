"""Who may ask the dashboard for what.

Laws: a request names the dashboard by an address, by localhost or by the name that the user gave,
so that no other name can be made to lead here (DNS rebinding). What comes from a page of another
origin is refused. Whatever a store or a crawl says or does needs the token of the printed address:
other users of this machine reach a loopback address, too. Only the page itself, which is the same
for all stores, is sent to everybody. It runs no script and loads nothing but its own files.

The token is a header and no cookie: a browser sends a cookie to each port of an address, and
another user may listen at the next port.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER: Final = "x-minicrawl-token"
_SAFE_METHODS = ("GET", "HEAD")
PAGE = "/page/"
"""The folder of the files of the page."""
_SAME_SITE = ("same-origin", "none")
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardAccess:
    """Where the dashboard is, and what opens it."""

    port: int
    names: frozenset[str]
    """Host names beside localhost and plain addresses."""
    token: str

    def refusal(self, method: str, path: str, headers: Headers) -> str | None:
        """Return why a request is refused, or None."""
        host = headers.get("host", "")
        if not self.is_ours(host):
            return "this is not the address of the dashboard"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "requests of other pages are refused"
        is_safe = method in _SAFE_METHODS
        if is_safe and (path == "/" or path.startswith(PAGE)):
            return None
        if not is_safe and headers.get("sec-fetch-site", "none") not in _SAME_SITE:
            return "requests of other pages are refused"
        if not self.has_token(headers.get(TOKEN_HEADER, "")):
            return "the token is missing: open the printed address, with all that follows its #"
        return None

    def is_ours(self, host: str) -> bool:
        """Whether a Host header means this dashboard."""
        name, _, port = host.rpartition(":")
        return port == str(self.port) and (
            name in self.names or name == "localhost" or _is_address(name)
        )

    def has_token(self, token: str) -> bool:
        """Whether this is the token; the answer takes as long for a token that is nearly right."""
        return compare_digest(token.encode(), self.token.encode())


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


class Guard:
    """Refuses what may not be, and adds the headers that keep the page to itself."""

    def __init__(self, app: ASGIApp, access: DashboardAccess) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        why = self._access.refusal(scope["method"], scope["path"], Headers(scope=scope))
        app = self._app if why is None else JSONResponse({"error": why}, status_code=403)
        await app(scope, receive, send_guarded)
