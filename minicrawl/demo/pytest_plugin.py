"""A pytest fixture for programs that crawl: it serves a dict of pages as a web on loopback.

    def test_the_crawl_finds_both_pages(serve_pages, tmp_path):
        web = serve_pages({
            "http://a.example/": '<a href="/b">b</a>',
            "http://a.example/b": "the end",
            "http://a.example/old": 404,
        })
        crawl = Crawl(["http://a.example/"], web.settings(store=tmp_path / "crawl.db"))
        assert crawl.run() is Reason.EMPTY
        assert web.requests["http://a.example/b"] == 1

pytest imports this module in every run, so it imports nothing of minicrawl before a test needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections import Counter

    from minicrawl.config import Settings
    from minicrawl.demo.pages import DemoResponse

    Answer = str | bytes | int | tuple[int, Mapping[str, str], str | bytes]

_HTML = {"Content-Type": "text/html; charset=utf-8"}


class DictWeb:
    """A web of pages by URL; URLs begin with http://.

    A page is HTML, a status such as 404, or a tuple of status, headers and body. Any other URL is a
    404, even robots.txt. Pages may be changed, added and removed while they are served.
    """

    def __init__(self, pages: Mapping[str, Answer]) -> None:
        self.pages = dict(pages)
        self.address = ""
        self.requests: Counter[str]

    def settings(self, **values: Any) -> Settings:
        """Return settings for a fast crawl of this web only.

        `values` are those of `Settings.of`.
        """
        from minicrawl.config import Settings

        quick: dict[str, Any] = {"delay": 0, "address_delay": 0, "workers": 0, "converge": False}
        return Settings.of(**{**quick, **values, "resolve": [f"*={self.address}"]})

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int, /
    ) -> DemoResponse:
        from minicrawl.demo.pages import DemoResponse

        match self.pages.get(f"http://{host}{target}", 404):
            case int(status):
                return DemoResponse(status, _HTML, b"")
            case (int(status), headers, body):
                return DemoResponse(status, {**_HTML, **headers}, _encoded(body))
            case body:
                return DemoResponse(200, _HTML, _encoded(body))


def _encoded(body: Any) -> bytes:
    return body if isinstance(body, bytes) else str(body).encode()


@pytest.fixture
def serve_pages() -> Iterator[Callable[[Mapping[str, Answer]], DictWeb]]:
    """Return a function that serves a dict of pages until the test ends."""
    from minicrawl.demo.server import DemoServer

    with ExitStack() as servers:

        def serve(pages: Mapping[str, Answer]) -> DictWeb:
            web = DictWeb(pages)
            server = servers.enter_context(DemoServer(web))
            web.address, web.requests = server.address, server.requests
            return web

        yield serve
