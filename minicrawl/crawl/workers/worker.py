"""A worker process: fetches and parses for a crawl at the other end of its channel.

Laws: each call has one reply, unless it is cancelled. The worker ends when its channel is closed.
It imports only what it needs to fetch and to parse.

`supervisor` describes calls and replies.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from io import BytesIO
from pathlib import Path
from time import process_time
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, assert_never

from minicrawl.config import Access, Network, Politeness
from minicrawl.config.values.kinds import AUTO
from minicrawl.crawl.workers.messages import connection_at_stdin, receive_message
from minicrawl.crawl.workers.parser import LARGE, LoopRounds, PageParser, is_pdf, to_disk
from minicrawl.crawl.workers.supervisor import PING, BlameMark, PickleChannel, marked
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.reach import network_with_proxies
from minicrawl.fetch.resolver.resolver import HostAndPort
from minicrawl.memory import freeze_loaded_objects, mmap_large_arrays
from minicrawl.model import (
    Failed,
    FetchResult,
    ParsedPage,
    Refused,
    Request,
    Response,
    SentBody,
    Want,
)
from minicrawl.ports import PageFetcher, Parse, Timed, Visit
from minicrawl.web.html_page import ParseOptions, content_hash
from minicrawl.web.responses import DocumentType, media_types, types_of

if TYPE_CHECKING:
    import httpx

    from minicrawl.archive.record import AnswerPacker
    from minicrawl.config import Settings
    from minicrawl.crawl.workers.scoring import PageScorer
    from minicrawl.fetch.access.logins import AccessByOrigin
    from minicrawl.web.robots import Rules
    from minicrawl.web.sitemaps import Sitemap


# ================================================================ worker config
#
# Settings for fetching and parsing, in the crawl process or in a worker.

MOST_RENDERED = 1_000_000
"""Size limit in bytes of pages to render, which are held in memory until a browser is free."""


MOST_READING_S = 30.0
"""Longest time for parsing a page, after which the page fails; most take milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """Settings for fetching and parsing, the same in the crawl process and in workers."""

    network: Network
    politeness: Politeness
    trusted_hosts: frozenset[HostAndPort]
    parse_options: ParseOptions
    max_reading_s: float = MOST_READING_S
    archive: Path | None = None  # the folder, if responses are kept
    only_text: bool = False
    with_bodies: bool = False  # whether the crawl gets the bodies of pages
    rendered_bytes: int = 0  # size limit of bodies that the crawl gets for a browser
    access: Access = field(default_factory=Access)
    logins: AccessByOrigin | None = None
    scorers: tuple[str, ...] = ()

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
        """Return the worker settings of a crawl.

        Proxies that files and the environment name are looked up here.
        """
        return cls(
            network=network_with_proxies(settings.network),
            politeness=settings.politeness,
            trusted_hosts=frozenset(trusted_hosts),
            parse_options=_parse_options(settings),
            archive=archive,
            only_text=settings.storing.keep == "text",
            with_bodies=with_bodies,
            rendered_bytes=MOST_RENDERED if settings.rendering.is_on else 0,
            access=settings.access,
            logins=logins,
            scorers=settings.order.score,
        )

    def parser(self) -> PageParser:
        """Return a parser with these settings."""
        return PageParser(self.parse_options, self.max_reading_s)

    def scorer(self) -> PageScorer | None:
        """Return the scorer of pages, if they get values."""
        if not self.scorers:
            return None
        from minicrawl.crawl.workers.scoring import PageScorer  # most crawls give no values

        return PageScorer(self.scorers)

    def packer(self) -> AnswerPacker | None:
        """Return the packer of responses for the archive, if they are kept."""
        if self.archive is None:
            return None
        from minicrawl.archive.record import AnswerPacker  # most crawls keep no responses

        return AnswerPacker(self.archive, only_text=self.only_text)


def _parse_options(settings: Settings) -> ParseOptions:
    types = types_of(settings.scope.types)
    return ParseOptions(
        agent=settings.politeness.agent,
        with_written=settings.storing.keep == "links",
        strip_marks=settings.storing.strip_marks,
        types=media_types(types),
        with_sitemaps=bool(types & DocumentType.SITEMAP),
        with_text=settings.storing.keep == "text",
        with_scripting=settings.rendering.render == AUTO,
    )


# ================================================================ visitor
#
# Fetches and parses pages in this process: the crawl process or a worker.
#
# Law: a visit has the same result in every process, as all have the same `WorkerConfig`.


_NOT_SMALL = 1 << 16
"""Size in bytes of a body above which visits take turns (`LoopRounds`)."""


class Visitor:
    """Web access without workers: a fetcher and a parser."""

    def __init__(
        self,
        fetcher: PageFetcher,
        parser: PageParser,
        packer: AnswerPacker | None = None,
        *,
        with_bodies: bool = False,
        rendered_bytes: int = 0,
        scorer: PageScorer | None = None,
    ) -> None:
        self._scorer = scorer
        self._fetcher, self._parser, self._packer = fetcher, parser, packer
        self._with_bodies, self._rendered_bytes = with_bodies, rendered_bytes
        self._rounds = LoopRounds()

    async def fetch(self, request: Request) -> FetchResult:
        """Fetch one URL, body included."""
        return await self._fetcher.fetch(request)

    async def locate(self, url: str) -> str | Refused | Failed:
        """Return the address that a fetch of this URL would connect to."""
        return await self._fetcher.locate(url)

    async def visit(self, request: Request) -> Visit:
        """Fetch a page or a sitemap. The returned visit can parse it."""
        fetched = await self._fetcher.fetch(request)
        if isinstance(fetched, Refused) and fetched.answer is not None:
            assert self._packer is not None  # without an archive, no request asks for files
            if fetched.answer.spooled is None:
                return Visit(self._packer.pack_other(request, fetched))
            return Visit(await asyncio.to_thread(self._packer.pack_other, request, fetched))
        if isinstance(fetched, Response) and len(fetched.body) > _NOT_SMALL:
            await self._rounds.turn()  # hashing and packing it takes milliseconds
        return self.visit_of(request, fetched)

    def visit_of(self, request: Request, fetched: FetchResult) -> Visit:
        """Return the visit for a fetch result."""
        if isinstance(fetched, Failed) and (answer := fetched.answer) is not None:
            record = b"" if self._packer is None else self._packer.pack_failure(request, answer)
            answer = answer._replace(headers={}, body=b"", record=record, wire=None)
            return Visit(fetched._replace(answer=answer))
        if not isinstance(fetched, Response):
            return Visit(fetched)
        packer = self._packer
        if request.want is Want.SITEMAP and packer is not None:
            # Sitemaps of usual size are kept beside whole pages.
            packer = None if packer.only_text or fetched.spooled is not None else packer
        elif request.want is not Want.PAGE:
            packer = None
        content, whole = None, fetched
        is_scored = self._scorer is not None and request.want is Want.PAGE
        if (packer is not None or is_scored) and fetched.spooled is not None:
            whole = _with_body(fetched, fetched.spooled)
        if packer is not None:
            # Hash the body once for both packing and parsing.
            content = None if packer.only_text else content_hash(whole.body)
        reading = self._parser.reading(fetched, request, content)
        parse = reading.anyhow
        # A scored page is never parsed quickly, as a scorer may take long.
        quickly = None if is_scored else reading.quickly
        record = b""
        if packer is not None:
            if packer.only_text and is_pdf(fetched, request):
                parse = partial(_packed, parse, packer, request, fetched._replace(body=b""))
            else:
                record = packer.pack(request, whole, content)
        if self._scorer is not None and is_scored:
            waiting = BytesIO(whole.body) if len(whole.body) <= LARGE else to_disk(whole.body)
            parse = partial(_scored, parse, self._scorer, request, fetched, waiting)
        is_wanted = self._with_bodies or len(fetched.body) <= self._rendered_bytes
        body = fetched.body if is_wanted else b""
        fetched = fetched._replace(body=body, record=record, spooled=None, wire=None)
        return Visit(fetched, parse, quickly)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """Parse the robots.txt at this URL for our agent."""
        return await self._parser.parse_rules(response, url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """Parse the rules of a robots.txt as a store keeps them."""
        return await self._parser.parse_stored_rules(text, url)


def _with_body(response: Response, spooled: IO[bytes]) -> Response:
    """Return the response with its body in memory, which was spooled to a file."""
    body, wire = spooled.read(), response.wire
    spooled.seek(0)
    if wire is not None and wire.body.spooled is not None:
        with wire.body.spooled as sent:
            wire = wire._replace(body=SentBody(sent.read()))
    return response._replace(body=body, wire=wire)


async def _packed(
    parse: Parse,
    packer: AnswerPacker,
    request: Request,
    response: Response,
) -> Timed[ParsedPage | Sitemap | Failed]:
    """Parse a PDF, and pack the text that its parser extracted."""
    page, cost_s = await parse()
    if isinstance(page, ParsedPage):
        record = packer.pack_text(request, response, page.extracted)
        page = page._replace(extracted="", record=record)
    return Timed(page, cost_s)


async def _scored(
    parse: Parse,
    scorer: PageScorer,
    request: Request,
    response: Response,
    body: IO[bytes],
) -> Timed[ParsedPage | Sitemap | Failed]:
    """Parse a page, and give it a value."""
    from minicrawl.crawl.workers.scoring import page_read

    page, cost_s = await parse()
    if isinstance(page, ParsedPage):
        without = response._replace(body=b"", spooled=None, wire=None)
        page = await scorer.scored(page_read(request.url, without, page), page, body)
    else:
        body.close()
    return Timed(page, cost_s)


@asynccontextmanager
async def visiting(
    config: WorkerConfig, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[Visitor]:
    """Open a visitor with connections of its own, or with a transport of httpx in their place."""
    parser, scorer = config.parser(), config.scorer()
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
                scorer=scorer,
            )
    finally:
        await parser.close()
        if scorer is not None:
            await scorer.close()


# ================================================================ worker


class WorkerCommand(IntEnum):
    """Commands of a worker: argument and result."""

    PING = PING  # nothing: None, at once
    VISIT = 1  # a packed request: a packed `VisitReply`
    PARSE = 2  # the number of a visit: its parsed page
    FETCH = 3  # a request: a fetch result
    LOCATE = 4  # a URL: an address


_WANTS = {want.value: want for want in Want}
PackedReply: TypeAlias = tuple[int, Any, Any, float]


class VisitReply(NamedTuple):
    """Result of a visit, without the body. An expensive page is parsed later, by a PARSE call."""

    number: int
    fetched: FetchResult
    parsed: Timed[ParsedPage | Sitemap | Failed] | None

    def packed(self) -> PackedReply:
        """Return plain tuples in place of the usual classes.

        A pickle has the name of each class, and looking up names takes ten times as long as all
        else.
        """
        fetched, parsed = self.fetched, self.parsed
        packed = tuple(fetched) if type(fetched) is Response else fetched
        if parsed is None:
            return self.number, packed, None, 0.0
        page, cost_s = parsed
        return self.number, packed, tuple(page) if type(page) is ParsedPage else page, cost_s

    @classmethod
    def unpacked(cls, packed: PackedReply) -> VisitReply:
        """Restore a packed reply."""
        number, fetched, page, cost_s = packed
        if type(fetched) is tuple:
            fetched = Response(*fetched)
        if type(page) is tuple:
            page = ParsedPage(*page)
        return cls(number, fetched, None if page is None else Timed(page, cost_s))


def packed_request(request: Request) -> tuple[Any, ...]:
    """Return the request as a plain tuple, as in `VisitReply.packed`."""
    url, want, *rest = request
    return url, want.value, *rest


def unpacked_request(packed: tuple[Any, ...]) -> Request:
    """Restore a packed request."""
    url, want, *rest = packed
    return Request(url, _WANTS[want], *rest)


class Worker:
    """Runs all calls that arrive, concurrently."""

    def __init__(self, visitor: Visitor, tasks: asyncio.TaskGroup, mark: BlameMark) -> None:
        self.channel = PickleChannel(self.begin)
        self._mark = mark
        self._visitor, self._tasks = visitor, tasks
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._unparsed: dict[int, Parse] = {}

    def begin(self, call: tuple[int, int | None, Any]) -> None:
        """Start a call, or cancel it."""
        number, command, argument = call
        if command is None:
            if number in self._under_way:
                self._under_way[number].cancel()
        else:
            run = partial(self._reply, number, WorkerCommand(command), argument)
            task = self._tasks.create_task(marked(self._mark, number, run))
            self._under_way[number] = task
            # Pings share a number, and several are under way if the worker was slow to start.
            task.add_done_callback(lambda _: self._under_way.pop(number, None))

    def stop(self) -> None:
        """Cancel all calls."""
        for task in self._under_way.values():
            task.cancel()

    async def _reply(self, number: int, command: WorkerCommand, argument: Any) -> None:
        result = await self._run(number, command, argument)
        self.channel.send((number, result, process_time()))

    async def _run(self, number: int, command: WorkerCommand, argument: Any) -> object:
        match command:
            case WorkerCommand.PING:
                return None
            case WorkerCommand.VISIT:
                reply = await self._visit(number, unpacked_request(argument))
                return reply.packed()
            case WorkerCommand.PARSE:
                return await self._unparsed.pop(argument)()
            case WorkerCommand.FETCH:
                return await self._visitor.fetch(argument)
            case WorkerCommand.LOCATE:
                return await self._visitor.locate(argument)
        assert_never(command)

    async def _visit(self, number: int, request: Request) -> VisitReply:
        visit = await self._visitor.visit(request)
        fetched = visit.fetched
        if not isinstance(fetched, Response) or visit.read is None:
            return VisitReply(number, fetched, None)
        parsed = None if visit.quickly is None else await visit.quickly()
        if parsed is None:
            self._unparsed[number] = visit.read
        return VisitReply(number, fetched, parsed)


async def serve(connection: socket.socket, config: WorkerConfig, mark: BlameMark) -> None:
    """Serve calls until the channel is closed."""
    async with visiting(config) as visitor, asyncio.TaskGroup() as tasks:
        worker = Worker(visitor, tasks, mark)
        await worker.channel.connect(connection)
        await worker.channel.ended.wait()
        worker.stop()


def main() -> None:
    """Run the worker: stdin is the channel's socket, the argument the blame mark's descriptor."""
    mark = BlameMark(int(sys.argv[1]))
    with connection_at_stdin() as connection:
        config = receive_message(connection)
        mmap_large_arrays()
        freeze_loaded_objects()
        if config is not None:
            asyncio.run(serve(connection, config, mark))
