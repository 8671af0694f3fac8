"""A small web whose server logs all requests.

Law: a page's response is a function of the town's seed and the page's number, and all pages can be
reached from the first. Some URLs redirect, some are not found, and robots.txt forbids some. Pages
contain pictures, some of them long, and every other page is compressed. An earlier archive has some
of the pages.
"""

import gzip
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import NamedTuple

from minicrawl import State
from minicrawl.archive.warc.capture import payload_digest
from minicrawl.demo.pages import DemoResponse
from minicrawl.demo.server import DemoServer

FORBIDDEN = "/private/"
PICTURES = "/pictures/"
_PICTURES_A_HOST = 60
_LONG_EVERY, _LONG = 15, 20_000
"""Number of pictures of which one is long, and its length in short ones: it is kept in a file."""
_ROBOTS = f"User-agent: *\nDisallow: {FORBIDDEN}\n".encode()
_LEAVES = {3: State.NOT_FOUND, 5: State.MOVED, 8: State.ROBOTS}
EARLIER = "2020-01-02T03:04:05Z"
"""Time of all captures in the earlier archive."""
_EARLIER_EVERY = 3
_CHILDREN = 3
_OTHERS = 6
_HTML = {"content-type": "text/html"}


class Request(NamedTuple):
    """Logged request."""

    at: float
    url: str


class Town:
    """Deterministic web of `pages` URLs, spread over `hosts` hosts."""

    def __init__(self, pages: int, hosts: int, seed: int) -> None:
        self._pages, self._hosts, self._seed = pages, hosts, seed

    @property
    def first(self) -> str:
        """URL of the seed."""
        return self._url(0)

    @property
    def states(self) -> dict[str, State]:
        """Final state of each URL after a complete crawl."""
        return {self._url(page): self._state(page) for page in range(self._pages)}

    def answer(self, path: str) -> DemoResponse:
        """Return the response for a path. The path alone identifies a page, on any host."""
        if path == "/robots.txt":
            return DemoResponse(200, {"content-type": "text/plain"}, _ROBOTS)
        if path.startswith(PICTURES):
            picture = b"GIF89a" + path.encode()
            is_long = int(path.rpartition("/")[2]) % _LONG_EVERY == 0
            body = picture * _LONG if is_long else picture
            # Slowly, so that many kills happen between pictures.
            return DemoResponse(200, {"content-type": "image/gif"}, body, delay_s=0.01)
        page = int(path.rpartition("/")[2])
        match self._state(page):
            case State.NOT_FOUND:
                return DemoResponse(404, {})
            case State.MOVED:
                target = self._url(Random(page + self._seed).randrange(page))
                return DemoResponse(301, {"location": target})
            case _ if page % 2:
                coded = gzip.compress(self._sheet(page), mtime=0)
                return DemoResponse(200, _HTML | {"content-encoding": "gzip"}, coded)
            case _:
                return DemoResponse(200, _HTML, self._sheet(page))

    @property
    def in_earlier(self) -> set[str]:
        """URLs of the pages that the earlier archive has."""
        return {self._url(page) for page in self._pages_in_earlier()}

    def earlier_index(self) -> Iterator[str]:
        """Yield the lines of the index of the earlier archive, as CDXJ."""
        stamp = "".join(filter(str.isdigit, EARLIER))
        for page in self._pages_in_earlier():
            digest = payload_digest(self.answer(f"/{page}").body)
            capture = {"url": self._url(page), "digest": digest}
            yield f"- {stamp} {json.dumps(capture)}"

    def _pages_in_earlier(self) -> Iterator[int]:
        pages = range(0, self._pages, _EARLIER_EVERY)
        return (page for page in pages if self._state(page) is State.FETCHED)

    @property
    def pictures(self) -> set[str]:
        """URLs of the pictures on all pages."""
        pages = [page for page in range(self._pages) if self._state(page) is State.FETCHED]
        return {f"{self._host(page)}{self._picture(page)}" for page in pages}

    def _state(self, page: int) -> State:
        return State.FETCHED if self._children(page) else _LEAVES.get(page % 19, State.FETCHED)

    def _url(self, page: int) -> str:
        folder = FORBIDDEN if self._state(page) is State.ROBOTS else "/"
        return f"{self._host(page)}{folder}{page}"

    def _host(self, page: int) -> str:
        return f"http://www.town{page % self._hosts}.example"

    def _sheet(self, page: int) -> bytes:
        rng = Random(page * 1_000_003 + self._seed)
        others = [rng.randrange(self._pages) for _ in range(_OTHERS)]
        links = "\n".join(
            f'<p>{rng.random()} <a href="{self._url(link)}">{link}</a>'
            for link in (*self._children(page), *others)
        )
        return f"<title>Number {page}</title>{links}<img src={self._picture(page)}>".encode()

    def _picture(self, page: int) -> str:
        return f"{PICTURES}{page // self._hosts % _PICTURES_A_HOST}"

    def _children(self, page: int) -> range:
        first = page * _CHILDREN + 1
        return range(min(first, self._pages), min(first + _CHILDREN, self._pages))


class Server:
    """Serves the current town; `asked` is the log of requests."""

    def __init__(self) -> None:
        self.address = ""
        self.town = Town(1, 1, 0)
        self.asked: list[Request] = []

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int, /
    ) -> DemoResponse:
        self.asked.append(Request(time.time(), f"http://{host}{target}"))
        return self.town.answer(target)


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server in a thread of its own."""
    server = Server()
    with DemoServer(server) as running:
        server.address = running.address
        yield server
