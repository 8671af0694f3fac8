"""Parses bodies here or in a child process.

Laws: no parse in a process that serves others takes more than `ENOUGH_S`, whatever a server sends.
A body that kills the parser, takes it too long or meets a bug of ours costs its page and not the
crawl. Dear bodies wait on disk, not in memory. The host whose bodies have cost least so far is
next; hosts that were never charged share one account.

dear   a body whose price (`web.prices`) is above `ENOUGH_S`, or that is large: it is parsed in a
       child process

The child is a plain process. A process pool would import the user's own script once more, and
crawl again if that has no guard against it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from io import BytesIO
from math import inf
from time import perf_counter
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar

from minicrawl.crawl.hosts.fairness import FairLock
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.model import Failed, FailureKind, ParsedPage, Request, Response, Want
from minicrawl.ports import Timed
from minicrawl.web import prices
from minicrawl.web.documents.kinds import HTML, PDF, SNIFFED, DocumentType, type_of
from minicrawl.web.html.page import ParseOptions, parse_page
from minicrawl.web.urls import host

if TYPE_CHECKING:
    from minicrawl.web.robots.rules import Rules
    from minicrawl.web.sitemaps.sitemap import Sitemap

T = TypeVar("T")

ENOUGH_S = 0.010
"""The longest that a loop waits for a parser."""
LARGE = 256 * 1024
"""Bytes of which few bodies are held in memory while they wait."""
_QUICK_S = 0.002
"""What is dearer is parsed one at a time, and the loop gets a turn after `ENOUGH_S` of it."""
_SHOWN = 200  # characters of the message of an exception


class Reading(NamedTuple):
    """A body that is not parsed yet. A dear one is kept on disk until then."""

    parse: Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]]
    is_dear: bool


class PageParser:
    """Runs the parsers of `minicrawl.web`, here or in a child process."""

    def __init__(self, options: ParseOptions, max_s: float, enough_s: float = ENOUGH_S) -> None:
        self._options = options
        self._enough_s = enough_s
        self._process = ParserProcess(max_s)
        self._one_at_a_time = FairLock()
        self._since_turn_s = 0.0

    def reading(self, response: Response, request: Request, content: int | None = None) -> Reading:
        """The body of a page or a sitemap. `content` is its hash, if that is known."""
        price_s = self._price_s(response, request)
        is_dear = price_s > self._enough_s
        body = response.spooled or (to_disk(response.body) if is_dear else response.body)
        task = self._task(response, request, content)
        return Reading(partial(self._run, task, body, request.url, price_s), is_dear)

    def _price_s(self, response: Response, request: Request) -> float:
        body, types = response.body, request.types
        if response.spooled is not None or len(body) > LARGE:
            return inf
        if request.want is Want.SITEMAP:
            return prices.list_s(body)
        kind = DocumentType.HTML if types == HTML else _kind(response, request)
        return prices.document_s(body, kind, self._enough_s, self._options)

    def _task(
        self, response: Response, request: Request, content: int | None
    ) -> Callable[[bytes], ParsedPage | Sitemap]:
        url = request.url
        if request.want is Want.SITEMAP:
            from minicrawl.web.sitemaps import sitemap  # many workers meet none

            return partial(sitemap.parse, url=url, strip_marks=self._options.strip_marks)
        parse = parse_page if request.types == HTML else _document_parser(request.types)
        return partial(
            parse,
            url=url,
            headers=dict(response.headers),
            options=self._options,
            suspicious=request.suspicious,
            content=content,
        )

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """What a robots.txt says about our agent; a failure if it takes too long."""
        from minicrawl.web.robots import rules  # workers leave them to the crawl

        agent, cut = self._options.agent, response.cut is not None
        task = partial(rules.parse, agent=agent, cut=cut)
        return await self._run_priced(task, response.body, url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """The same for rules as a store keeps them."""
        from minicrawl.web.robots import rules

        task = partial(rules.parse, agent="*")
        return await self._run_priced(task, text.encode(), url)

    async def close(self) -> None:
        """End the child process."""
        await self._process.close()

    async def _run_priced(
        self, task: Callable[[bytes], Rules], body: bytes, url: str
    ) -> Timed[Rules | Failed]:
        price_s = prices.robots_s(body)
        is_dear = price_s > self._enough_s
        return await self._run(task, BytesIO(body) if is_dear else body, url, price_s)

    async def _run(
        self, task: Callable[[bytes], T], body: bytes | IO[bytes], url: str, price_s: float
    ) -> Timed[T | Failed]:
        """Here, or in the child process if the body is a file."""
        if not isinstance(body, bytes):
            return await self._run_in_child(task, body, url)
        if price_s <= _QUICK_S:
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

    async def _run_in_child(
        self, task: Callable[[bytes], T], body: IO[bytes], url: str
    ) -> Timed[T | Failed]:
        try:
            with body:
                result: Timed[T | Failed] = await self._process.run(task, body, host(url))
                return result
        except ParserLost as lost:
            return Timed(Failed(kind=FailureKind.TOO_LARGE, detail=str(lost)), lost.cost_s)


def is_pdf(response: Response, request: Request) -> bool:
    """Whether the response is read as PDF."""
    return request.types & PDF != 0 and _kind(response, request) is DocumentType.PDF


def _kind(response: Response, request: Request) -> DocumentType | None:
    content_type, begins = response.headers.get("content-type"), response.body[:SNIFFED]
    return type_of(content_type, request.url, begins, request.types)


def _document_parser(types: int) -> Callable[..., ParsedPage]:
    from minicrawl.web.documents.document import parse_document  # most crawls read HTML alone

    return partial(parse_document, types=types)


def _timed(task: Callable[[bytes], T], body: bytes) -> Timed[T | Failed]:
    """A bug of ours costs the page, and not the crawl."""
    began = perf_counter()
    result: T | Failed
    try:
        result = task(body)
    except Exception as bug:
        detail = f"the reader made a mistake: {bug!r}"[:_SHOWN]
        result = Failed(kind=FailureKind.LOST, detail=detail)
    return Timed(result, perf_counter() - began)


def to_disk(body: bytes) -> IO[bytes]:
    """The body as a temporary file, or in memory if the disk is full. The reader closes it."""
    from tempfile import TemporaryFile  # few bodies are that large

    try:
        file = TemporaryFile()  # noqa: SIM115  # the reader closes it
        file.write(body)
        file.seek(0)
    except OSError:
        return BytesIO(body)
    return file
