"""What the crawl needs from outside, so that tests can turn the clock and play the network."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from minicrawl.model import Failed, Fetched, Page, Reading, Refused, Request
from minicrawl.web.robots import Rules
from minicrawl.web.sitemaps import Sitemap


class Fetcher(Protocol):
    """Asks for one URL and answers with a value, never an exception."""

    async def fetch(self, request: Request) -> Fetched:
        """What came of it."""

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address that a fetch of this URL would connect to."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of asking for a page, without its body: whoever reads it has it."""

    fetched: Fetched
    read: Callable[[], Awaitable[Reading | Failed]] | None = None
    """What the page says, once; a failure if it was too much. None where there is no page."""
    is_large: bool = False
    """Reading it takes longer than its host should be kept waiting."""


class Outside(Fetcher, Protocol):
    """Fetches pages and reads them, wherever that is done."""

    async def visit(self, request: Request) -> Visit:
        """Ask for a page; the host is free again when this answers."""

    async def rules(self, page: Page) -> Rules | Failed:
        """What a robots.txt says to us; a failure if it was too much."""

    async def sitemap(self, body: bytes, url: str) -> Sitemap:
        """What a sitemap lists; nothing if it was too much."""


class Clock(Protocol):
    """Two times: one that never jumps, for waiting; and the time of day, for what is kept."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""

    def today(self) -> float:
        """Seconds since 1970."""
