"""Fetches and parses pages in this process, be it the crawl's own or a worker.

Law: a visit has the same result in every process, as all of them have the same `WorkerConfig`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from minicrawl.crawl.workers.page_parser import PageParser, is_pdf
from minicrawl.crawl.workers.worker_config import WorkerConfig
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.model import Failed, FetchResult, ParsedPage, Refused, Request, Response, Want
from minicrawl.ports import PageFetcher, Timed, Visit
from minicrawl.web.html.page import content_hash

if TYPE_CHECKING:
    import httpx

    from minicrawl.archive.packing import AnswerPacker
    from minicrawl.web.robots.rules import Rules
    from minicrawl.web.sitemaps.sitemap import Sitemap


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
        if isinstance(fetched, Failed) and fetched.answer is not None:
            return Visit(self._packed_failure(request, fetched, fetched.answer))
        if not isinstance(fetched, Response):
            return Visit(fetched)
        packer = self._packer if request.want is Want.PAGE else None
        content, whole = None, fetched
        if packer is not None:
            whole = _with_body(fetched)
            # What is packed and parsed is hashed once.
            content = None if packer.only_text else content_hash(whole.body)
        reading = self._parser.reading(fetched, request, content)
        parse, quickly = reading.anyhow, reading.quickly
        record = b""
        if packer is not None:
            if packer.only_text and is_pdf(fetched, request):
                parse = partial(_packed, parse, packer, request, fetched._replace(body=b""))
            else:
                record = packer.pack(request, whole, content)
        is_wanted = self._with_bodies or len(fetched.body) <= self._rendered_bytes
        body = fetched.body if is_wanted else b""
        fetched = fetched._replace(body=body, record=record, spooled=None)
        return Visit(fetched, parse, quickly)

    def _packed_failure(self, request: Request, failed: Failed, answer: Response) -> Failed:
        record = b"" if self._packer is None else self._packer.pack_failure(request, answer)
        return failed._replace(answer=answer._replace(headers={}, body=b"", record=record))

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """What the robots.txt at this URL says about our agent."""
        return await self._parser.parse_rules(response, url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """The same for rules as a store keeps them."""
        return await self._parser.parse_stored_rules(text, url)


def _with_body(response: Response) -> Response:
    """What is spooled is held in memory for a moment."""
    if (spooled := response.spooled) is None:
        return response
    body = spooled.read()
    spooled.seek(0)
    return response._replace(body=body)


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
    config: WorkerConfig, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[Visitor]:
    """A visitor with connections of its own, or with a transport of httpx in their place."""
    parser = config.parser()
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
