"""Fetches and parses pages in this process, be it the crawl's own or a worker.

Laws: a visit has the same result in every process, as all of them have the same `WorkerConfig`.
Whatever a server sends, to parse it keeps the loop from its work for no longer than a blink. A body
that kills the parser, takes it too long or meets a bug of ours costs its page and not the crawl.
Large bodies wait on disk, not in memory. The host whose bodies have cost least so far is next.

small   a body that is parsed here, at once; a larger one is parsed in a child process

The child is a plain process. A process pool would import the user's own script once more, and
crawl again if that has no guard against it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import IO, TYPE_CHECKING, TypeVar

from minicrawl.archive.packing import AnswerPacker
from minicrawl.config import Access, Network, Politeness, Settings
from minicrawl.config.parts import AUTO
from minicrawl.crawl.hosts.fairness import FairLock
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.reaching import known
from minicrawl.fetch.where.resolver import HostAndPort
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    ParsedPage,
    Refused,
    Request,
    Response,
    Want,
)
from minicrawl.ports import PageFetcher, Timed, Visit
from minicrawl.web.documents.kinds import (
    HTML,
    SNIFFED,
    DocumentType,
    media_types,
    type_of,
    types_of,
)
from minicrawl.web.html.page import ParseOptions, parse_page
from minicrawl.web.robots import rules
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps import sitemap
from minicrawl.web.sitemaps.sitemap import Sitemap
from minicrawl.web.urls import host

if TYPE_CHECKING:
    import httpx

    from minicrawl.fetch.access.logins import AccessByOrigin

T = TypeVar("T")

SMALL = 128 * 1024
"""Bytes that take some milliseconds to parse, whatever they are."""
SMALL_IN_A_WORKER = 2 * SMALL
"""A worker may take longer: only its own requests wait for it."""
MOST_RENDERED = 1_000_000
"""Bytes of a page that a browser may render: it is held in memory until one is free."""
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
        if len(response.body) > self._small:
            return True
        may_be_packed = request.want is Want.SITEMAP or request.types & DocumentType.SITEMAP
        if may_be_packed and response.body.startswith(_GZIP_MAGIC):
            return True
        return request.types & DocumentType.PDF != 0 and is_pdf(response, request)

    def parse_later(
        self, response: Response, request: Request
    ) -> Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]]:
        """A function that parses the body; until it is called, a large one is kept on disk."""
        url = request.url
        body = to_disk(response.body) if self.is_large(response, request) else response.body
        if request.want is Want.SITEMAP:
            marks = self._options.strip_marks
            return partial(self._run, partial(sitemap.parse, url=url, strip_marks=marks), body, url)
        parse = parse_page if request.types == HTML else _document_parser(request.types)
        task = partial(
            parse,
            url=url,
            headers=dict(response.headers),
            options=self._options,
            suspicious=request.suspicious,
        )
        return partial(self._run, task, body, url)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """What a robots.txt says about our agent; a failure if it takes too long."""
        agent, cut = self._options.agent, response.cut is not None
        task = partial(rules.parse, agent=agent, cut=cut)
        return await self._run(task, self._weighed(response.body), url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """The same for rules as a store keeps them."""
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
    try:
        file = TemporaryFile()  # noqa: SIM115  # the reader closes it
        file.write(body)
        file.seek(0)
    except OSError:
        return BytesIO(body)
    return file


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """The settings of a visitor."""

    network: Network
    politeness: Politeness
    trusted_hosts: frozenset[HostAndPort]
    parse_options: ParseOptions
    max_reading_s: float
    archive: Path | None = None  # the folder, if answers are kept
    only_text: bool = False
    with_bodies: bool = False  # whether the crawl gets the bodies of pages
    rendered_bytes: int = 0  # bodies of pages that a browser may render, and the crawl gets
    access: Access = field(default_factory=Access)
    logins: AccessByOrigin | None = None

    @classmethod
    def of(
        cls,
        settings: Settings,
        trusted_hosts: Iterable[HostAndPort] = (),
        archive: Path | None = None,
        *,
        with_bodies: bool = False,
        logins: AccessByOrigin | None = None,
    ) -> WorkerConfig:
        """What is around links is collected only if the order of reading uses it.

        Proxies that files and the environment name are known from here on.
        """
        types = types_of(settings.scope.types)
        return cls(
            network=known(settings.network),
            politeness=settings.politeness,
            trusted_hosts=frozenset(trusted_hosts),
            parse_options=ParseOptions(
                agent=settings.politeness.agent,
                max_links=settings.limits.max_links,
                with_words=bool(settings.order.focus_words or settings.order.focus_similar),
                with_emphasis=settings.order.weight_emphasis != 1,
                with_written=settings.storing.keep == "links",
                strip_marks=settings.storing.strip_marks,
                types=media_types(types),
                with_sitemaps=bool(types & DocumentType.SITEMAP),
                with_text=settings.storing.keep == "text",
                with_scripting=settings.rendering.render == AUTO,
            ),
            max_reading_s=settings.limits.max_reading_s,
            archive=archive,
            only_text=settings.storing.keep == "text",
            with_bodies=with_bodies,
            rendered_bytes=MOST_RENDERED if settings.rendering.is_on else 0,
            access=settings.access,
            logins=logins,
        )

    def parser(self, small: int = SMALL) -> PageParser:
        """A parser with these settings."""
        return PageParser(self.parse_options, self.max_reading_s, small)

    def packer(self) -> AnswerPacker | None:
        """What makes records of answers, if they are kept."""
        archive = self.archive
        return None if archive is None else AnswerPacker(archive, only_text=self.only_text)


class Visitor:
    """Fetches with a fetcher and parses with a parser: web access without workers."""

    def __init__(
        self,
        fetcher: PageFetcher,
        parser: PageParser,
        packer: AnswerPacker | None = None,
        *,
        with_bodies: bool = False,
        rendered_bytes: int = 0,
    ) -> None:
        self._fetcher, self._parser, self._packer = fetcher, parser, packer
        self._with_bodies, self._rendered_bytes = with_bodies, rendered_bytes

    async def fetch(self, request: Request) -> FetchResult:
        """Fetch one URL, body included."""
        return await self._fetcher.fetch(request)

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address that a fetch of this URL would connect to."""
        return await self._fetcher.locate(url)

    async def visit(self, request: Request) -> Visit:
        """Fetch a page or a sitemap; the visit knows how to parse it."""
        return self.visit_of(request, await self._fetcher.fetch(request))

    def visit_of(self, request: Request, fetched: FetchResult) -> Visit:
        """The visit of which this came."""
        if not isinstance(fetched, Response):
            return Visit(fetched)
        parse = self._parser.parse_later(fetched, request)
        is_large = self._parser.is_large(fetched, request)
        record = b""
        if (packer := self._packer) is not None and request.want is Want.PAGE:
            if packer.only_text and request.types & DocumentType.PDF and is_pdf(fetched, request):
                parse = partial(_packed, parse, packer, request, fetched._replace(body=b""))
            else:
                record = packer.pack(request, fetched)
        is_wanted = self._with_bodies or len(fetched.body) <= self._rendered_bytes
        body = fetched.body if is_wanted else b""
        return Visit(fetched._replace(body=body, record=record), parse, is_large=is_large)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """What the robots.txt at this URL says about our agent."""
        return await self._parser.parse_rules(response, url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """The same for rules as a store keeps them."""
        return await self._parser.parse_stored_rules(text, url)


async def _packed(
    parse: Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]],
    packer: AnswerPacker,
    request: Request,
    response: Response,
) -> Timed[ParsedPage | Sitemap | Failed]:
    """Parse a document whose text only its parser can tell, and pack that text."""
    page, cost_s = await parse()
    if isinstance(page, ParsedPage):
        record = packer.pack_text(request, response, page.extracted)
        page = page._replace(extracted="", record=record)
    return Timed(page, cost_s)


@asynccontextmanager
async def visiting(
    config: WorkerConfig, small: int = SMALL, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[Visitor]:
    """A visitor with connections of its own, or with a transport of httpx in their place; it
    parses bodies of up to `small` bytes itself.
    """
    parser = config.parser(small)
    try:
        async with HttpFetcher(
            config.network,
            config.politeness,
            trusted_hosts=config.trusted_hosts,
            transport=transport,
            access=config.access,
            logins=config.logins,
        ) as fetcher:
            yield Visitor(
                fetcher,
                parser,
                config.packer(),
                with_bodies=config.with_bodies,
                rendered_bytes=config.rendered_bytes,
            )
    finally:
        await parser.close()
