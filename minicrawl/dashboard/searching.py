"""`search --serve`: the search of a store as a page of its own.

Law: all of `guard` holds. The token is a new one each time.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from minicrawl.dashboard.guard import PAGE, DashboardAccess, Guard
from minicrawl.dashboard.search_answers import SearchAnswers
from minicrawl.dashboard.serving import LOOPBACK, listening, plain_config

_HERE = Path(__file__).parent
_SHARED = ("dom.js", "server.js", "search.js", "search.css", "style.css", "icon.svg")
_FILES = {name: _HERE / "page" / name for name in _SHARED} | {
    path.name: path for path in (_HERE / "search_page").iterdir()
}
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"} | {
    ".svg": "image/svg+xml"
}


def search_page(store: Path, access: DashboardAccess) -> Guard:
    """The application of the page, guarded."""
    routes = [
        Route("/", _index),
        Route(f"{PAGE}{{name}}", _file),
        *SearchAnswers(store).routes("/api"),
    ]
    return Guard(Starlette(routes=routes), access)


def serve_search(store: Path, port: int | None, say: Callable[[str], None]) -> None:
    """Serve the page until the process is told to end."""
    with listening(LOOPBACK, port) as listener:
        chosen = int(listener.getsockname()[1])
        token = secrets.token_urlsafe(24)
        access = DashboardAccess(port=chosen, names=frozenset((LOOPBACK,)), token=token)
        server = uvicorn.Server(plain_config(search_page(store, access)))
        say(f"http://{LOOPBACK}:{chosen}/#{token}")
        asyncio.run(server.serve(sockets=[listener]))


async def _index(_request: Request) -> Response:
    return _sent("index.html")


async def _file(request: Request) -> Response:
    return _sent(request.path_params["name"])


def _sent(name: str) -> Response:
    path = _FILES.get(name)
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, media_type=_TYPES.get(path.suffix))
