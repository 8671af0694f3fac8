"""Fetches and parses pages in this process: the crawl process or a worker.

Law: a visit has the same result in every process, as all have the same `WorkerConfig`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from math import inf
from pathlib import Path
from typing import IO, TYPE_CHECKING

from minicrawl.config import Access, Network, Politeness
from minicrawl.config.host_settings import is_of_proxy
from minicrawl.config.values.kinds import AUTO
from minicrawl.crawl.workers.loop_rounds import LoopRounds
from minicrawl.crawl.workers.parser import ENOUGH_S, LARGE, PageParser, has_extracted_text, to_disk
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.reach import network_with_proxies
from minicrawl.fetch.resolver.resolver import HostAndPort
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
from minicrawl.web.html.hashes import content_hash
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses.types import DocumentType, media_types, types_of

if TYPE_CHECKING:
    import httpx

    from minicrawl.archive.packing import AnswerPacker
    from minicrawl.config import Settings
    from minicrawl.crawl.workers.scoring import PageScorer
    from minicrawl.fetch.access.logins import AccessByOrigin
    from minicrawl.web.sitemaps.sitemap import Sitemap

_NOT_SMALL = 1 << 16
"""Size in bytes of a body above which visits take turns (`LoopRounds`)."""
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
    archive: Path | None = None  # the folder, if responses are kept
    returned_bytes: float = 0  # size limit of bodies that the crawl gets, for programs or a browser
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
        """Return the worker settings of a crawl, with the proxies of files and environment."""
        types, keep = types_of(settings.scope.types), settings.storing.keep
        return cls(
            network=replace(
                network_with_proxies(settings.network),
                host_settings=tuple(filter(is_of_proxy, settings.politeness.host_settings)),
            ),
            politeness=settings.politeness,
            trusted_hosts=frozenset(trusted_hosts),
            parse_options=ParseOptions(
                agent=settings.politeness.agent,
                with_written=keep == "links",
                strip_marks=settings.storing.strip_marks,
                types=media_types(types),
                with_sitemaps=bool(types & DocumentType.SITEMAP),
                with_text=keep == "text",
                # Without a browser, the end of the crawl tells what looks made by scripts.
                with_scripting=AUTO in settings.render_values
                or (settings.storing.is_for_replay and not settings.is_rendering),
            ),
            archive=archive,
            returned_bytes=inf if with_bodies else MOST_RENDERED if settings.is_rendering else 0,
            access=settings.access,
            logins=logins,
            scorers=settings.order.score,
        )


class Visitor:
    """Web access without workers: a fetcher and a parser."""

    def __init__(
        self, fetcher: PageFetcher, config: WorkerConfig, enough_s: float = ENOUGH_S
    ) -> None:
        """Set up; what takes at most `enough_s` is parsed here."""
        self.fetch, self.locate = fetcher.fetch, fetcher.locate
        self._parser = PageParser(config.parse_options, MOST_READING_S, enough_s, config.politeness)
        self.parse_rules = self._parser.parse_rules
        self.parse_in_child = self._parser.parse_in_child
        self.parse_remotely = self._parser.parse_remotely
        self._returned_bytes = config.returned_bytes
        self._rounds = LoopRounds()
        self._packer: AnswerPacker | None = None
        self._scorer: PageScorer | None = None
        if config.archive is not None:
            from minicrawl.archive.packing import AnswerPacker  # most crawls keep no responses

            self._packer = AnswerPacker(config.archive, only_text=config.parse_options.with_text)
        if config.scorers:
            from minicrawl.crawl.workers.scoring import PageScorer  # most crawls give no values

            self._scorer = PageScorer(config.scorers)

    async def aclose(self) -> None:
        await self._parser.close()
        if self._scorer is not None:
            await self._scorer.close()

    async def visit(self, request: Request) -> Visit:
        """Fetch a page or a sitemap. The returned visit can parse it."""
        fetched = await self.fetch(request)
        if isinstance(fetched, Refused) and fetched.answer is not None:
            assert self._packer is not None  # without an archive, no request asks for files
            if fetched.answer.spooled is None:
                return Visit(self._packer.pack_other(request, fetched))
            return Visit(await asyncio.to_thread(self._packer.pack_other, request, fetched))
        if isinstance(fetched, Response) and len(fetched.body) > _NOT_SMALL:
            await self._rounds.turn()  # hashing and packing it takes milliseconds
        return self.visit_of(request, fetched)

    def visit_of(self, request: Request, fetched: FetchResult) -> Visit:
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
            wire = fetched.wire
            if wire is not None and wire.body.spooled is not None:
                with wire.body.spooled as sent:
                    wire = wire._replace(body=SentBody(sent.read()))
            whole = fetched._replace(body=fetched.spooled.read(), wire=wire)
            fetched.spooled.seek(0)
        if packer is not None:
            # Hash the body once for both packing and parsing.
            content = None if packer.only_text else content_hash(whole.body)
        reading = self._parser.reading(fetched, request, content)
        parse = reading.anyhow
        # A scored page is never parsed quickly, as a scorer may take long.
        quickly = None if is_scored else reading.quickly
        record = b""
        if packer is not None:
            if packer.only_text and has_extracted_text(fetched, request):
                parse = partial(_packed, parse, packer, request, fetched._replace(body=b""))
            else:
                record = packer.pack(request, whole, content)
        if self._scorer is not None and is_scored:
            waiting = BytesIO(whole.body) if len(whole.body) <= LARGE else to_disk(whole.body)
            without = fetched._replace(body=b"", spooled=None, wire=None)
            parse = partial(_scored, parse, self._scorer, request.url, without, waiting)
        body = fetched.body if len(fetched.body) <= self._returned_bytes else b""
        fetched = fetched._replace(body=body, record=record, spooled=None, wire=None)
        return Visit(fetched, parse, quickly)


async def _packed(
    parse: Parse, packer: AnswerPacker, request: Request, response: Response
) -> Timed[ParsedPage | Sitemap | Failed]:
    page, cost_s = await parse()
    if isinstance(page, ParsedPage):
        record = packer.pack_text(request, response, page.extracted)
        page = page._replace(extracted="", record=record)
    return Timed(page, cost_s)


async def _scored(
    parse: Parse, scorer: PageScorer, url: str, response: Response, body: IO[bytes]
) -> Timed[ParsedPage | Sitemap | Failed]:
    from minicrawl.crawl.workers.scoring import page_read

    page, cost_s = await parse()
    if isinstance(page, ParsedPage):
        page = await scorer.scored(page_read(url, response, page), page, body)
    else:
        body.close()
    return Timed(page, cost_s)


@asynccontextmanager
async def visiting(
    config: WorkerConfig,
    transport: httpx.AsyncBaseTransport | None = None,
    enough_s: float = ENOUGH_S,
) -> AsyncIterator[Visitor]:
    """Open a visitor, which parses here what takes at most `enough_s`."""
    fetcher = HttpFetcher(
        config.network,
        config.politeness,
        trusted_hosts=config.trusted_hosts,
        transport=transport,
        access=config.access,
        logins=config.logins,
    )
    async with aclosing(Visitor(fetcher, config, enough_s)) as visitor, fetcher:
        yield visitor
