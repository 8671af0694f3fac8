"""What the crawl needs from outside: the web and the time. Tests pass fakes of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from minicrawl.model import (
    COORDINATOR,
    CrawlerId,
    Failed,
    FetchResult,
    ParsedPage,
    Refused,
    Request,
    Response,
)

if TYPE_CHECKING:
    from minicrawl.web.robots import Rules
    from minicrawl.web.sitemaps import Sitemap

T_co = TypeVar("T_co", covariant=True)


class Timed(NamedTuple, Generic[T_co]):
    """A value, and the processor time that it cost."""

    value: T_co
    cost_s: float = 0.0


class PageFetcher(Protocol):
    """Sends one request and returns a value that says what came of it, never an exception."""

    async def fetch(self, request: Request) -> FetchResult:
        """Fetch one URL, body included."""

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address that a fetch of this URL would connect to."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that was fetched, and how to parse it. The body is where the page will be parsed."""

    fetched: FetchResult
    read: Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]] | None = None
    """Parses the page, once; gives a failure if it takes too long. None if there is no page."""
    quickly: Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed] | None]] | None = None
    """Parses the page only if that takes a moment. Gives None otherwise: `read` parses it when no
    other dear page is being parsed.
    """
    crawler: CrawlerId = COORDINATOR
    """The process that asked for it."""


class WebAccess(PageFetcher, Protocol):
    """Fetches pages and parses them, in whichever process."""

    async def visit(self, request: Request) -> Visit:
        """Fetch a page or a sitemap. When this returns, the next request to its host may begin."""

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """What the robots.txt at this URL says about our agent; a failure if it takes too long."""

    async def parse_stored_rules(self, text: str, url: str) -> Timed[Rules | Failed]:
        """The same for rules as a store keeps them."""


class Clock(Protocol):
    """Two times: one that never jumps, to wait by, and the time of day, to store."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""

    def today(self) -> float:
        """Seconds since 1970."""
