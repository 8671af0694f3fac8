"""The protocol: tools on stdio, or on HTTP at loopback behind a token."""

import asyncio
import functools
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from hmac import compare_digest
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from minicrawl import __version__
from minicrawl.dashboard.http_server import LOOPBACK, LimitedServer, listening
from minicrawl.errors import MinicrawlError
from minicrawl.mcp.answers import NOTICE, Answer, answer
from minicrawl.mcp.crawl_grant import CrawlGrant
from minicrawl.mcp.crawl_tool import CrawlTool
from minicrawl.mcp.held_store import IDLE_S
from minicrawl.mcp.tools import StoreTools

TOKEN_VARIABLE = "MCP_TOKEN"
PATH = "/mcp"
_INSTRUCTIONS = (
    "A store of the web crawler minicrawl: pages, links and the importance of each page, as of the "
    f"crawl's last commit. {NOTICE}"
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_CRAWLS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)


def server_for(
    store: Path,
    grant: CrawlGrant | None = None,
    *,
    idle_s: float = IDLE_S,
) -> MCPServer[Any]:
    """Return a server with the tools of a store, and with the tool that crawls if granted.

    It closes the store after `idle_s` without a question.
    """
    tools = StoreTools(store)
    thread = _ToolThread(tools, idle_s)

    @asynccontextmanager
    async def life(_server: MCPServer[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await thread.leave()

    server = MCPServer[Any](
        "minicrawl",
        version=__version__,
        instructions=_INSTRUCTIONS,
        log_level="ERROR",
        lifespan=life,
    )
    for tool in tools.all():
        server.add_tool(thread.runs(tool), annotations=_READS)
    if grant is not None:
        crawling = CrawlTool(store, grant)
        server.add_tool(
            _told(crawling.crawl), description=crawling.description, annotations=_CRAWLS
        )
    return server


class _ToolThread:
    """Thread that runs all tools, and closes the store after `idle_s`."""

    def __init__(self, tools: StoreTools, idle_s: float) -> None:
        self._tools, self._idle_s = tools, idle_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tools")
        self._leaving: asyncio.TimerHandle | None = None

    def runs(self, tool: Callable[..., Answer]) -> Callable[..., Any]:
        """Return a coroutine function that runs the tool in the thread."""

        @functools.wraps(tool)
        async def run(**given: Any) -> Answer:
            loop = asyncio.get_running_loop()
            if self._leaving is not None:
                self._leaving.cancel()
            try:
                return await loop.run_in_executor(self._thread, functools.partial(tool, **given))
            finally:
                self._leaving = loop.call_later(
                    self._idle_s, self._thread.submit, self._tools.close
                )

        return _told(run)

    async def leave(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._tools.close)


def _told(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return the tool with our errors turned into errors of the protocol."""

    @functools.wraps(tool)
    async def run(**given: Any) -> Answer:
        try:
            reply: Answer = await tool(**given)
        except (MinicrawlError, OSError) as error:
            raise ToolError(json.dumps(answer({"error": str(error)}))) from error
        return reply

    return run


def serve_http(server: MCPServer[Any], port: int | None, announce: Callable[[str], None]) -> None:
    """Serve at loopback until the process is stopped. `announce` gets address and token."""
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(24)
    with listening(LOOPBACK, port) as listener:
        own_port = int(listener.getsockname()[1])
        names = [f"{name}:{own_port}" for name in (LOOPBACK, "localhost")]
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            transport_security=TransportSecuritySettings(
                allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
            ),
        )
        announce(f"http://{names[0]}{PATH}\nAuthorization: Bearer {token}")
        LimitedServer(TokenGuard(app, token), lifespan="on").run_at(listener)


class TokenGuard:
    """ASGI middleware that refuses requests without the token: any user can reach loopback."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode()
            if not compare_digest(given, self._wanted):
                app = JSONResponse({"error": "the token is missing or wrong"}, status_code=401)
        await app(scope, receive, send)
