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
from math import inf
from time import perf_counter
from typing import IO, TYPE_CHECKING, NamedTuple

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.fair_lock import FairLock
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess, T
from minicrawl.model import Failed, ParsedPage, Request, Response, Want
from minicrawl.ports import Timed
from minicrawl.states import State
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses.prices import (
    TooExpensive,
    document_price_s,
    list_price_s,
    robots_price_s,
)
from minicrawl.web.responses.types import HTML, SNIFFED, DocumentType, type_of
from minicrawl.web.urls import host

if TYPE_CHECKING:
    from minicrawl.web.robots.rules import Rules
    from minicrawl.web.sitemaps.sitemap import Sitemap

ENOUGH_S, ENOUGH_IN_WORKER_S = 0.010, 0.030
"""Longest time in seconds that a parser may block the event loop of the crawl, and of a worker.

These are prices, several times what usual pages cost: pages of the web, of 240 kB, take 2 ms, but
half of them exceed a price of 10 ms.
"""
LARGE = 512 * 1024
"""Size in bytes above which a body is expensive, and waits on disk."""
_QUICK = 16 * 1024
"""Size in bytes above which bodies are parsed one at a time, with a turn of the loop after each
`ENOUGH_S` of parsing.
"""
_SHOWN = 200  # characters of the message of an exception
_EXTRACTED = (DocumentType.PDF, DocumentType.OFFICE)


class Reading:
    """Body to be parsed once: in this process if that is quick, else in the child."""

    def __init__(self, parser: PageParser, task: Task, body: bytes | IO[bytes], url: str) -> None:
        self._parser, self._task, self._body, self._url = parser, task, body, url
        self._spent_s = 0.0

    async def quickly(self) -> Timed[ParsedPage | Sitemap | Failed] | None:
        """Parse the body in this process; None if it is expensive: then it waits on disk."""
        if not isinstance(self._body, bytes):
            return None
        result, cost_s = await self._parser.parse_here(self._task.quick, self._body, self._url)
        if result is not None:
            return Timed(result, cost_s)
        self._spent_s, self._body = cost_s, to_disk(self._body)
        return None

    async def anyhow(self) -> Timed[ParsedPage | Sitemap | Failed]:
        """Parse the body, however long it takes."""
        if (found := await self.quickly()) is not None:
            return found
        assert not isinstance(self._body, bytes)
        result, cost_s = await self._parser.parse_in_child(self._task.whole, self._body, self._url)
        return Timed(result, cost_s + self._spent_s)


class Task(NamedTuple):
    """Parsers of a body: one for the whole, and one that stops if it takes too long."""

    whole: Callable[[bytes], ParsedPage | Sitemap]
    quick: Callable[[bytes], ParsedPage | Sitemap]


class PageParser:
    """Runs the parsers of `minicrawl.web`, here or in a child process."""

    def __init__(
        self,
        options: ParseOptions,
        max_s: float,
        enough_s: float = ENOUGH_S,
        politeness: Politeness | None = None,
    ) -> None:
        """Set up; `enough_s` is the longest time for a parse in this process."""
        self._options, self._politeness = options, politeness or Politeness()
        self._enough_s = enough_s
        self._process = ParserProcess(max_s)
        self._one_at_a_time = FairLock()
        self._since_turn_s = 0.0

    def reading(self, response: Response, request: Request, content: int | None = None) -> Reading:
        """Prepare to parse a page or a sitemap. `content` is the hash of its body, if known."""
        body = response.spooled or response.body
        if isinstance(body, bytes) and self._is_expensive(response, request):
            body = to_disk(body)
        return Reading(self, self._task(response, request, content), body, request.url)

    def _is_expensive(self, response: Response, request: Request) -> bool:
        """Return whether the body looks expensive. HTML may prove to be while it is parsed."""
        body = response.body
        if len(body) > LARGE:
            price_s = inf
        elif request.want is Want.SITEMAP:
            price_s = list_price_s(body)
        else:
            price_s = document_price_s(body, _kind(response, request))
        return price_s > self._enough_s

    def _task(self, response: Response, request: Request, content: int | None) -> Task:
        url = request.url
        if request.want is Want.SITEMAP:
            from minicrawl.web.sitemaps import sitemap  # many workers meet no sitemap

            parse = partial(sitemap.parse, url=url, strip_marks=self._options.strip_marks)
            return Task(parse, parse)
        if request.types == HTML:
            read: Callable[..., ParsedPage] = parse_page
        else:
            # most crawls read HTML alone
            from minicrawl.web.documents.document import parse_document

            read = partial(parse_document, types=request.types)
        page = partial(
            read,
            url=url,
            headers=dict(response.headers),
            options=self._options_of(url),
            suspicious=request.suspicious,
            content=content,
        )
        return Task(page, partial(page, most_us=self._enough_s * 1e6))

    def _options_of(self, url: str) -> ParseOptions:
        """Return the options for a host, which may know the crawler by another name."""
        if not self._politeness.host_settings:
            return self._options
        return replace(self._options, agent=self._politeness.of_host(host(url)).agent)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """Parse a robots.txt for our agent; a failure if it takes too long."""
        from minicrawl.web.robots import rules  # workers leave robots.txt to the crawl

        agent, cut = self._options_of(url).agent, response.cut is not None
        task = partial(rules.parse, agent=agent, cut=cut)
        return await self._parse_rules(task, response.body, url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """Parse the rules of a robots.txt as a store keeps them."""
        from minicrawl.web.robots import rules

        task = partial(rules.parse, agent="*")
        return await self._parse_rules(task, text.encode(), url)

    async def close(self) -> None:
        """End the child process."""
        await self._process.close()

    async def _parse_rules(
        self, task: Callable[[bytes], Rules], body: bytes, url: str
    ) -> Timed[Rules | Failed]:
        if robots_price_s(body) > self._enough_s:
            return await self.parse_in_child(task, BytesIO(body), url)
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
            if self._since_turn_s > ENOUGH_S:
                self._since_turn_s = 0.0
                await asyncio.sleep(0)
        return result

    async def parse_in_child(
        self, task: Callable[[bytes], T], body: IO[bytes], url: str
    ) -> Timed[T | Failed]:
        """Parse the body in the child process, which can be killed."""
        try:
            with body:
                result: Timed[T | Failed] = await self._process.run(task, body, host(url))
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
    except TooExpensive:
        result = None
    except Exception as bug:
        detail = f"bug in the parser: {bug!r}"[:_SHOWN]
        result = Failed(kind=State.LOST, detail=detail)
    return Timed(result, perf_counter() - began)


def to_disk(body: bytes) -> IO[bytes]:
    """Return the body as a temporary file, or in memory if the disk is full.

    The caller closes it.
    """
    from tempfile import TemporaryFile  # few bodies are that large

    try:
        file = TemporaryFile()  # noqa: SIM115  # the reader closes it
        file.write(body)
        file.seek(0)
    except OSError:
        return BytesIO(body)
    return file
