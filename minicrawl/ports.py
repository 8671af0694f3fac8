"""Protocols of the outside world: web, clock and display of progress. Tests pass fakes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

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
    from minicrawl.web.robots.rules import Rules
    from minicrawl.web.sitemaps.sitemap import Sitemap

T_co = TypeVar("T_co", covariant=True)


class Timed(NamedTuple, Generic[T_co]):
    """Value with the CPU time that it cost, in seconds."""

    value: T_co
    cost_s: float = 0.0


Parse: TypeAlias = "Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]]"


class PageFetcher(Protocol):
    """Sends one request and returns its result as a value, never as an exception."""

    async def fetch(self, request: Request) -> FetchResult:
        """Fetch one URL, body included."""

    async def locate(self, url: str) -> str | Refused | Failed:
        """Return the address that a fetch of this URL would connect to."""


class Visit(NamedTuple):
    """Fetched page, and functions that parse it. The body stays in the process that parses it."""

    fetched: FetchResult
    read: Parse | None = None
    """Parses the page, once; returns a failure if it takes too long. None if there is no page."""
    quickly: Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed] | None]] | None = None
    """Parses the page only if that is quick, else returns None: `read` parses it when no other
    expensive page is being parsed.
    """
    crawler: CrawlerId = COORDINATOR
    """The process that sent the request."""
    parsed: Timed[ParsedPage | Sitemap | Failed] | None = None
    """The parsed page, if a worker has parsed it already: `read` returns the same at once."""


class WebAccess(PageFetcher, Protocol):
    """Fetches pages and parses them, in any process."""

    async def visit(self, request: Request) -> Visit:
        """Fetch a page or a sitemap. When this returns, the next request to its host may begin."""

    async def parse_rules(self, response: Response, url: str) -> Timed[Rules | Failed]:
        """Parse the robots.txt at this URL for our agent; a failure if it takes too long."""


class Clock(Protocol):
    """Clock with monotonic time, for waiting, and time of day, for storing."""

    def now(self) -> float:
        """Return the seconds since some moment; never goes back."""

    def today(self) -> float:
        """Return the seconds since 1970."""


Progress = Callable[[float], None]
"""Function that a long task calls with the share done, between 0 and 1."""


def unreported(_share: float) -> None:
    """Discard progress."""


def part(progress: Progress, start: float, end: float) -> Progress:
    """Return the progress function of a subtask that covers the shares `start` to `end`."""
    return lambda share: progress(start + share * (end - start))
