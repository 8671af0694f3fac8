"""Access to a dashboard: tokens, origins, and what may be done without.

Laws: a request must name the dashboard by an IP address, by localhost, or by the name that the
user gave, which defeats DNS rebinding. Requests from pages of another origin are refused. All
data of stores and crawls, and all changes, need the token of the printed address, since other
users of the machine can reach loopback addresses, too. Only the page itself, which is equal for
all stores, is public. Its content security policy allows only its own files and no inline
scripts.

Pings of IndexNow have a key of their own, made from the token. The token itself was rejected: the
protocol has sites publish their keys. With this one, a stranger can only say that known pages
have changed.

The token is sent as a header. A cookie was rejected: browsers send a cookie to all ports of an
address, and another user may listen at the next port.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest, digest
from ipaddress import ip_address
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER: Final = "x-minicrawl-token"
_SAFE_METHODS = ("GET", "HEAD")
PAGE = "/page/"
"""Path of the page's files."""
METRICS = "/metrics"
PINGS = "/indexnow"
"""Path that sites send pings of IndexNow to."""
BEGINNING = 16 * 1024
"""Bytes of a ping that must contain its key: the rest of a stranger's body is not read."""
_KEY = re.compile(rb'"key"\s*:\s*"([0-9a-f]{32})"')
_SAME_SITE = ("same-origin", "none")
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
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
    """Address of the dashboard, and the token that opens it."""

    port: int
    names: frozenset[str]
    """Host names beside localhost and IP addresses."""
    token: str

    def refusal(self, method: str, path: str, headers: Headers) -> str | None:
        """Return why the request is refused, or None."""
        host = headers.get("host", "")
        if not self.is_ours(host):
            return "this is not the address of the dashboard"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "requests from other pages are refused"
        is_safe = method in _SAFE_METHODS
        if is_safe and (path == "/" or path.startswith(PAGE)):
            return None
        if not is_safe and headers.get("sec-fetch-site", "none") not in _SAME_SITE:
            return "requests from other pages are refused"
        token = headers.get(TOKEN_HEADER, "")
        if is_safe and path == METRICS and not token:
            token = headers.get("authorization", "").removeprefix("Bearer ")  # as Prometheus does
        # The key of a ping is in its query or body, where the route checks it.
        if path != PINGS and not self.has_token(token):
            return "the token is missing: open the printed address, with everything after #"
        return None

    def is_ours(self, host: str) -> bool:
        """Return whether a Host header means this dashboard."""
        name, _, port = host.rpartition(":")
        return port == str(self.port) and (
            name in self.names or name == "localhost" or _is_address(name)
        )

    def has_token(self, token: str) -> bool:
        """Compare a token in constant time."""
        return compare_digest(token.encode(), self.token.encode())

    @property
    def ping_key(self) -> str:
        """Key that pings of IndexNow need. It does not reveal the token."""
        return digest(self.token.encode(), PINGS.encode(), "sha256").hex()[:32]

    def has_ping_key(self, key: object) -> bool:
        """Compare a key of IndexNow in constant time."""
        return isinstance(key, str) and compare_digest(
            key.encode(errors="replace"), self.ping_key.encode()
        )

    def begins_with_ping_key(self, body: bytes) -> bool:
        """Return True if a JSON object has the key of IndexNow in this beginning of it."""
        match = _KEY.search(body)
        return match is not None and self.has_ping_key(match[1].decode())


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware that refuses requests, and adds security headers."""

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
