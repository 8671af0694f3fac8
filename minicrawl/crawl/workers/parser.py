"""Parses bodies in this process or in a child process.

Laws: no parse in a process that serves others takes more than `ENOUGH_S`, or in a worker
`ENOUGH_IN_WORKER_S`, whatever a server sends. A body that kills the parser, takes too long or hits
a bug of ours fails its page, not the crawl. Expensive bodies wait on disk, not in memory. The host
whose bodies have cost least so far is next; hosts that were never charged share one account.

expensive  a body that is large, or takes more than `ENOUGH_S` by its price (`web.responses.prices`)
           or by what the scan of HTML finds (`web.html.scanner`); a child process parses it

The child is a plain process. A pool of `multiprocessing` was rejected: it would import the user's
script once more, and crawl again if that script has no `__main__` guard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import BytesIO
from time import perf_counter
from typing import IO, TYPE_CHECKING

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.fair_lock import FairLock
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess, T
from minicrawl.model import Failed, ParsedPage, Request, Response, Want
from minicrawl.ports import Timed
from minicrawl.states import State
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses import prices
from minicrawl.web.responses.types import HTML, SNIFFED, DocumentType, type_of
from minicrawl.web.urls import host

if TYPE_CHECKING:
    from minicrawl.web.robots.rules import Rules
    from minicrawl.web.sitemaps.sitemap import Sitemap

ENOUGH_S, ENOUGH_IN_WORKER_S = 0.030, 0.060
"""Longest time in seconds that a parser may block the event loop of the crawl, and of a worker.

These are prices, several times what usual pages cost: pages of the web, of 240 kB, take 2 ms, but
half of them exceed a price of 10 ms, and one in 30 a price of 30 ms.
"""
_TURN_S = 0.010  # of parsing, after which the event loop has a turn
LARGE = 512 * 1024
"""Size in bytes above which a body is expensive to the crawl; to a worker, in proportion."""
_QUICK = 16 * 1024
"""Size in bytes above which bodies are parsed one at a time, with turns of the loop between."""
_SHOWN = 200  # characters of the message of an exception
_EXTRACTED = (DocumentType.PDF, DocumentType.OFFICE)

ParseBody = Callable[[bytes], "ParsedPage | Sitemap"]


class Reading:
    """Body to be parsed once: in this process if that is quick, else in the child."""

    def __init__(
        self,
        parser: PageParser,
        whole: ParseBody,
        quick: ParseBody,
        body: bytes | IO[bytes],
        url: str,
    ) -> None:
        """Set up with a parser of the whole body, and one that stops if it takes too long."""
        self._parser, self._whole, self._quick = parser, whole, quick
        self._body, self._url, self._spent_s = body, url, 0.0

    async def quickly(self) -> Timed[ParsedPage | Sitemap | Failed] | None:
        """Parse the body in this process; None if it is expensive: then it waits on disk."""
        if not isinstance(self._body, bytes):
            return None
        result, cost_s = await self._parser.parse_here(self._quick, self._body, self._url)
        if result is not None:
            return Timed(result, cost_s)
        self._spent_s, self._body = cost_s, to_disk(self._body)
        return None

    async def anyhow(self) -> Timed[ParsedPage | Sitemap | Failed]:
        if (result := await self.quickly()) is not None:
            return result
        assert not isinstance(self._body, bytes)
        page, cost_s = await self._parser.parse_in_child(self._whole, self._body, host(self._url))
        return Timed(page, cost_s + self._spent_s)


class PageParser:
    def __init__(
        self,
        options: ParseOptions,
        max_s: float,
        enough_s: float = ENOUGH_S,
        politeness: Politeness | None = None,
    ) -> None:
        """Set up; `enough_s` is the longest time for a parse in this process."""
        self._options, self._politeness = options, politeness or Politeness()
        self._enough_s, self._large = enough_s, LARGE * enough_s / ENOUGH_S
        self._process = ParserProcess(max_s)
        self.close, self.parse_remotely = self._process.close, self._process.parse_remotely
        self._one_at_a_time = FairLock()
        self._since_turn_s = 0.0

    def reading(self, response: Response, request: Request, content: int | None = None) -> Reading:
        """Prepare to parse a page or a sitemap. `content` is the hash of its body, if known."""
        url, body = request.url, response.body
        whole: Callable[..., ParsedPage | Sitemap]
        quick: Callable[..., ParsedPage | Sitemap]
        price: Callable[[bytes], float]
        if request.want is Want.SITEMAP:
            from minicrawl.web.sitemaps import sitemap  # many workers meet no sitemap

            whole = quick = partial(sitemap.parse, url=url, strip_marks=self._options.strip_marks)
            price = prices.list_price_s
        else:
            read: Callable[..., ParsedPage] = parse_page
            if request.types != HTML:
                from minicrawl.web.documents.document import parse_document

                read = partial(parse_document, types=request.types)
            whole = partial(
                read,
                url=url,
                headers=dict(response.headers),
                options=self._options_of(url),
                suspicious=request.suspicious,
                content=content,
            )
            quick = partial(whole, most_us=self._enough_s * 1e6)
            # HTML may prove to be expensive while it is parsed.
            price = partial(prices.document_price_s, kind=_kind(response, request))
        is_quick = len(body) <= self._large and price(body) <= self._enough_s
        waiting = response.spooled or (body if is_quick else to_disk(body))
        return Reading(self, whole, quick, waiting, url)

    def _options_of(self, url: str) -> ParseOptions:
        """Return the options for a host, which may know the crawler by another name."""
        if not self._politeness.host_settings:
            return self._options
        return replace(self._options, agent=self._politeness.of_host(host(url)).agent)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        from minicrawl.web.robots import rules  # workers leave robots.txt to the crawl

        body, cut = response.body, response.cut is not None
        task = partial(rules.parse, agent=self._options_of(url).agent, cut=cut)
        if prices.robots_price_s(body) > self._enough_s:
            return await self.parse_in_child(task, to_disk(body), host(url))
        result, cost_s = await self.parse_here(task, body, url)
        assert result is not None
        return Timed(result, cost_s)

    async def parse_here(
        self, task: Callable[[bytes], T], body: bytes, url: str
    ) -> Timed[T | Failed | None]:
        """Parse the body in this process; None if that is too expensive."""
        if len(body) <= _QUICK:
            return _timed(task, body)
        name = host(url)
        async with self._one_at_a_time.held_for(name):
            result = _timed(task, body)
            self._one_at_a_time.charge(name, result.cost_s)
            self._since_turn_s += result.cost_s
            if self._since_turn_s > _TURN_S:
                self._since_turn_s = 0.0
                await asyncio.sleep(0)
        return result

    async def parse_in_child(
        self, task: Callable[[bytes], T], body: IO[bytes], name: str
    ) -> Timed[T | Failed]:
        """Parse a body of the host with this name in the child, here or of another process."""
        try:
            with body:
                result: Timed[T | Failed] = await self._process.run(task, body, name)
                return result
        except ParserLost as lost:
            return Timed(Failed(kind=State.TOO_LARGE, detail=str(lost)), lost.cost_s)


def has_extracted_text(response: Response, request: Request) -> bool:
    """Return whether the text of the response is extracted while it is parsed."""
    return request.types != HTML and _kind(response, request) in _EXTRACTED


def _kind(response: Response, request: Request) -> DocumentType | None:
    if request.types == HTML:
        return DocumentType.HTML
    content_type, begins = response.headers.get("content-type"), response.body[:SNIFFED]
    return type_of(content_type, request.url, begins, request.types)


def _timed(task: Callable[[bytes], T], body: bytes) -> Timed[T | Failed | None]:
    """Run a parser. A bug in it fails the page, and does not end the crawl."""
    began = perf_counter()
    result: T | Failed | None
    try:
        result = task(body)
    except prices.TooExpensive:
        result = None
    except Exception as bug:
        detail = f"bug in the parser: {bug!r}"[:_SHOWN]
        result = Failed(kind=State.LOST, detail=detail)
    return Timed(result, perf_counter() - began)


def to_disk(body: bytes) -> IO[bytes]:
    """Return the body as a temporary file to be closed, or in memory if the disk is full."""
    from tempfile import TemporaryFile  # few bodies are that large

    try:
        file = TemporaryFile()  # noqa: SIM115  # the reader closes it
        file.write(body)
        file.seek(0)
    except OSError:
        return BytesIO(body)
    return file
