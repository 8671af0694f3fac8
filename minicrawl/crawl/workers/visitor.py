"""Visiting: a page is fetched and read in the process that is asked for it.

Law: whichever process it is, a visit comes to the same; all of them get the same `WorkerConfig`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from minicrawl import ports
from minicrawl.config import Network, Politeness, Settings
from minicrawl.crawl.workers.parser import SMALL, PageParser
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.where.resolver import HostAndPort
from minicrawl.model import Failed, FetchResult, Refused, Request, Response
from minicrawl.ports import Timed, Visit
from minicrawl.web.html.page import ParseOptions
from minicrawl.web.robots.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """What a visitor has to know."""

    network: Network
    politeness: Politeness
    trusted_hosts: frozenset[HostAndPort]
    wishes: ParseOptions
    max_reading_s: float

    @classmethod
    def of(cls, settings: Settings, trusted_hosts: Iterable[HostAndPort] = ()) -> WorkerConfig:
        """The words of links are read only if somebody wants them."""
        return cls(
            network=settings.network,
            politeness=settings.politeness,
            trusted_hosts=frozenset(trusted_hosts),
            wishes=ParseOptions(
                agent=settings.politeness.agent,
                max_links=settings.limits.max_links,
                with_words=bool(settings.order.focus_words),
                strip_marks=settings.storing.strip_marks,
            ),
            max_reading_s=settings.limits.max_reading_s,
        )

    def reader(self, small: int = SMALL) -> PageParser:
        """One that reads what is wanted."""
        return PageParser(self.wishes, self.max_reading_s, small)


class Visitor:
    """Goes out by itself."""

    def __init__(self, fetcher: ports.FetcherPort, reader: PageParser) -> None:
        self._fetcher, self._reader = fetcher, reader

    async def fetch(self, request: Request) -> FetchResult:
        """Whatever it is, with its body."""
        return await self._fetcher.fetch(request)

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address that a fetch of this URL would connect to."""
        return await self._fetcher.locate(url)

    async def visit(self, request: Request) -> Visit:
        """A page, and whoever reads it."""
        fetched = await self._fetcher.fetch(request)
        if not isinstance(fetched, Response):
            return Visit(fetched)
        url, want, suspicious = request.url, request.want, request.suspicious
        read = self._reader.later(fetched, url, want, suspicious=suspicious)
        is_large = self._reader.is_large(fetched, want)
        return Visit(fetched._replace(body=b""), read, is_large=is_large)

    async def rules(self, page: Response, url: str) -> Timed[Rules | Failed]:
        """What the robots.txt at this URL says to us."""
        return await self._reader.rules(page, url)

    async def recalled(self, text: str, url: str) -> Timed[Rules | Failed]:
        """Rules as they were kept."""
        return await self._reader.recalled(text, url)


@asynccontextmanager
async def visiting(charge: WorkerConfig, small: int = SMALL) -> AsyncIterator[Visitor]:
    """A visitor with connections of its own; bodies up to so many bytes are read by itself."""
    reader = charge.reader(small)
    try:
        async with HttpFetcher(
            charge.network, charge.politeness, trusted_hosts=charge.trusted_hosts
        ) as fetcher:
            yield Visitor(fetcher, reader)
    finally:
        await reader.close()
