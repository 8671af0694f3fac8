"""Pages that need a browser, and a server that records its requests."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Crawl, ExportRow, PageRead
from minicrawl.crawl.rendering.pool import find_browser
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer
from minicrawl.errors import UsageError
from tests.limits import settings_of


def why_no_browser() -> str:
    """Return why there is no browser, or an empty string if there is one."""
    if find_spec("playwright") is None:
        return "no playwright"
    try:
        find_browser(None)
    except UsageError as error:
        return str(error)
    return ""


needs_browser = pytest.mark.skipif(bool(why_no_browser()), reason=why_no_browser())
HTML, SCRIPT = "text/html; charset=utf-8", "text/javascript"


def page(body: str, **headers: str) -> DemoResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return DemoResponse(200, {"Content-Type": HTML, **named}, body.encode())


def script(code: str) -> DemoResponse:
    return DemoResponse(200, {"Content-Type": SCRIPT}, code.encode())


def data(value: object) -> DemoResponse:
    return DemoResponse(200, {"Content-Type": "application/json"}, json.dumps(value).encode())


def filled_by(code: str) -> DemoResponse:
    return page(f'<title>shell</title><div id="root"></div><script>{code}</script>')


MISSING = DemoResponse(404, {"Content-Type": HTML}, b"missing")


class ScriptedWeb:
    """A web that answers by path, and records the path and headers of each request."""

    def __init__(self, answers: Mapping[str, DemoResponse]) -> None:
        self.answers = dict(answers)
        self.asked: list[tuple[str, dict[str, str]]] = []

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def answer(
        self, host: str, target: str, headers: Mapping[str, str], visits: int, /
    ) -> DemoResponse:
        self.asked.append((target, dict(headers)))
        return self.answers.get(target, MISSING)


@contextmanager
def served(
    answers: Mapping[str, DemoResponse], kind: type[ScriptedWeb] = ScriptedWeb
) -> Iterator[tuple[ScriptedWeb, str]]:
    """Serve a web; give it and its origin."""
    web = kind(answers)
    with DemoServer(web) as server:
        yield web, f"http://{server.address}"


def crawled(
    seed: str,
    store: Path,
    on_page: Callable[[PageRead], None] | None = None,
    seeds: Sequence[str] = (),
    **settings: Any,
) -> dict[str, ExportRow]:
    wanted: dict[str, Any] = {"delay": 0, "workers": 0, "render": "auto", "max_s": 60}
    with_them = settings_of(store=store, scope="host", converge=False, **wanted | settings)
    crawl = Crawl([seed, *seeds], with_them, on_page=on_page)
    crawl.run()
    return {row.url[row.url.index("/", len("http://")) :]: row for row in crawl.pages()}
