"""Fetches and parses pages in this process: the crawl process or a worker.

Law: a visit has the same result in every process, as all have the same `WorkerConfig`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from typing import IO, TYPE_CHECKING

from minicrawl.crawl.workers.loop_rounds import LoopRounds
from minicrawl.crawl.workers.parser import ENOUGH_S, LARGE, PageParser, has_extracted_text, to_disk
from minicrawl.crawl.workers.worker_config import WorkerConfig
from minicrawl.fetch.fetcher import HttpFetcher
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

if TYPE_CHECKING:
    import httpx

    from minicrawl.archive.packing import AnswerPacker
    from minicrawl.crawl.workers.scoring import PageScorer
    from minicrawl.web.robots.rules import Rules
    from minicrawl.web.sitemaps.sitemap import Sitemap

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
            if packer.only_text and has_extracted_text(fetched, request):
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
    """Parse a file, and pack the text that its parser extracted."""
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
    config: WorkerConfig,
    transport: httpx.AsyncBaseTransport | None = None,
    enough_s: float = ENOUGH_S,
) -> AsyncIterator[Visitor]:
    """Open a visitor with connections of its own, or with a transport of httpx in their place.

    It parses here what takes at most `enough_s`.
    """
    parser, scorer = config.parser(enough_s), config.scorer()
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
