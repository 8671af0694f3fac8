"""Fetches and parses pages in this process, be it the crawl's own or a worker.

Law: a visit has the same result in every process, as all of them have the same `WorkerConfig`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from minicrawl.archive.packing import AnswerPacker
from minicrawl.config import Network, Politeness, Settings
from minicrawl.crawl.workers.parser import SMALL, PageParser
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.where.resolver import HostAndPort
from minicrawl.model import Failed, FetchResult, Refused, Request, Response, Want
from minicrawl.ports import PageFetcher, Timed, Visit
from minicrawl.web.html.page import ParseOptions
from minicrawl.web.robots.rules import Rules


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

    @classmethod
    def of(
        cls,
        settings: Settings,
        trusted_hosts: Iterable[HostAndPort] = (),
        archive: Path | None = None,
    ) -> WorkerConfig:
        """The words of links are collected only if the order of reading uses them."""
        return cls(
            network=settings.network,
            politeness=settings.politeness,
            trusted_hosts=frozenset(trusted_hosts),
            parse_options=ParseOptions(
                agent=settings.politeness.agent,
                max_links=settings.limits.max_links,
                with_words=bool(settings.order.focus_words),
                strip_marks=settings.storing.strip_marks,
            ),
            max_reading_s=settings.limits.max_reading_s,
            archive=archive,
            only_text=settings.storing.keep == "text",
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
        self, fetcher: PageFetcher, parser: PageParser, packer: AnswerPacker | None = None
    ) -> None:
        self._fetcher, self._parser, self._packer = fetcher, parser, packer

    async def fetch(self, request: Request) -> FetchResult:
        """Fetch one URL, body included."""
        return await self._fetcher.fetch(request)

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address that a fetch of this URL would connect to."""
        return await self._fetcher.locate(url)

    async def visit(self, request: Request) -> Visit:
        """Fetch a page or a sitemap; the visit knows how to parse it."""
        fetched = await self._fetcher.fetch(request)
        if not isinstance(fetched, Response):
            return Visit(fetched)
        url, want, suspicious = request.url, request.want, request.suspicious
        parse = self._parser.parse_later(fetched, url, want, suspicious=suspicious)
        is_large = self._parser.is_large(fetched, want)
        record = self._packer.pack(request, fetched) if self._packer and want is Want.PAGE else b""
        return Visit(fetched._replace(body=b"", record=record), parse, is_large=is_large)

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """What the robots.txt at this URL says about our agent."""
        return await self._parser.parse_rules(response, url)

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """The same for rules as a store keeps them."""
        return await self._parser.parse_stored_rules(text, url)


@asynccontextmanager
async def visiting(config: WorkerConfig, small: int = SMALL) -> AsyncIterator[Visitor]:
    """A visitor with connections of its own; it parses bodies of up to `small` bytes itself."""
    parser = config.parser(small)
    try:
        async with HttpFetcher(
            config.network, config.politeness, trusted_hosts=config.trusted_hosts
        ) as fetcher:
            yield Visitor(fetcher, parser, config.packer())
    finally:
        await parser.close()
