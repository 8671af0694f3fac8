"""Parses bodies here or in a child process.

Laws: whatever a server sends, to parse it keeps the loop from its work for no longer than a blink.
A body that kills the parser, takes it too long or meets a bug of ours costs its page and not the
crawl. Large bodies wait on disk, not in memory. The host whose bodies have cost least so far is
next.

small   a body that is parsed here, at once; a larger one is parsed in a child process

The child is a plain process. A process pool would import the user's own script once more, and
crawl again if that has no guard against it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from io import BytesIO
from time import perf_counter
from typing import IO, TYPE_CHECKING, TypeVar

from minicrawl.crawl.hosts.fairness import FairLock
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.model import Failed, FailureKind, ParsedPage, Request, Response, Want
from minicrawl.ports import Timed
from minicrawl.web.documents.kinds import HTML, PDF, SITEMAP, SNIFFED, DocumentType, type_of
from minicrawl.web.html.page import ParseOptions, parse_page
from minicrawl.web.urls import host

if TYPE_CHECKING:
    from minicrawl.web.robots.rules import Rules
    from minicrawl.web.sitemaps.sitemap import Sitemap

T = TypeVar("T")

SMALL = 128 * 1024
"""Bytes that take some milliseconds to parse, whatever they are."""
SMALL_IN_A_WORKER = 2 * SMALL
"""A worker may take longer: only its own requests wait for it."""
_QUICK = 32 * 1024
"""Bytes that take a few milliseconds. Larger bodies are parsed one at a time."""
_TURN_S = 0.01
"""After so much parsing of them the loop gets a turn."""
_ROBOTS_WEIGHT = 8
"""A byte of robots.txt takes so many times longer than another one."""
_GZIP_MAGIC = b"\x1f\x8b"
"""A sitemap that begins with it is larger than it looks."""
_SHOWN = 200  # characters of the message of an exception


class PageParser:
    """Runs the parsers of `minicrawl.web`, here or in a child process."""

    def __init__(self, options: ParseOptions, max_s: float, small: int = SMALL) -> None:
        self._options = options
        self._small = small
        self._process = ParserProcess(max_s)
        self._one_at_a_time = FairLock()
        self._since_turn_s = 0.0

    def is_large(self, response: Response, request: Request) -> bool:
        """Whether the body is parsed in a child process: for its size, or for what it may be."""
        if response.spooled is not None or len(response.body) > self._small:
            return True
        may_be_packed = request.want is Want.SITEMAP or request.types & SITEMAP
        if may_be_packed and response.body.startswith(_GZIP_MAGIC):
            return True
        return request.types & PDF != 0 and is_pdf(response, request)

    def parse_later(
        self, response: Response, request: Request, content: int | None = None
    ) -> Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]]:
        """A function that parses the body; until it is called, a large one is kept on disk.
        `content` is the hash of the body, if that is known.
        """
        url = request.url
        body = response.spooled or (
            to_disk(response.body) if self.is_large(response, request) else response.body
        )
        if request.want is Want.SITEMAP:
            from minicrawl.web.sitemaps import sitemap  # many workers meet none

            marks = self._options.strip_marks
            return partial(self._run, partial(sitemap.parse, url=url, strip_marks=marks), body, url)
        parse = parse_page if request.types == HTML else _document_parser(request.types)
        task = partial(
            parse,
            url=url,
            headers=dict(response.headers),
            options=self._options,
            suspicious=request.suspicious,
            content=content,
        )
        return partial(self._run, task, body, url)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """What a robots.txt says about our agent; a failure if it takes too long."""
        from minicrawl.web.robots import rules  # workers leave them to the crawl

        agent, cut = self._options.agent, response.cut is not None
        task = partial(rules.parse, agent=agent, cut=cut)
        return await self._run(task, self._weighed(response.body), url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """The same for rules as a store keeps them."""
        from minicrawl.web.robots import rules

        task = partial(rules.parse, agent="*")
        return await self._run(task, self._weighed(text.encode()), url)

    async def close(self) -> None:
        """End the child process."""
        await self._process.close()

    def _weighed(self, body: bytes) -> bytes | IO[bytes]:
        """A file, if a robots.txt of this size is too large to be parsed here."""
        return body if len(body) * _ROBOTS_WEIGHT <= self._small else BytesIO(body)

    async def _run(
        self, task: Callable[[bytes], T], body: bytes | IO[bytes], url: str
    ) -> Timed[T | Failed]:
        """Here, or in the child process if the body is a file."""
        if not isinstance(body, bytes):
            return await self._run_in_child(task, body, url)
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
    """Whether it is read as PDF."""
    content_type, begins = response.headers.get("content-type"), response.body[:SNIFFED]
    return type_of(content_type, request.url, begins, request.types) is DocumentType.PDF


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
