"""What the crawl needs from outside, so that tests can turn the clock and play the network."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from minicrawl.model import Failed, FetchResult, ParsedPage, Refused, Request, Response
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps.sitemap import Sitemap

T_co = TypeVar("T_co", covariant=True)


class Timed(NamedTuple, Generic[T_co]):
    """A value, and the processor time that it took to make it."""

    value: T_co
    cost_s: float = 0.0


class FetcherPort(Protocol):
    """Asks for one URL and answers with a value, never an exception."""

    async def fetch(self, request: Request) -> FetchResult:
        """What came of it."""

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address that a fetch of this URL would connect to."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of asking for a page, without its body: whoever reads it has it."""

    fetched: FetchResult
    read: Callable[[], Awaitable[Timed[ParsedPage | Sitemap | Failed]]] | None = None
    """What the page says, once; a failure if it was too much. None where there is no page."""
    is_large: bool = False
    """Reading it takes longer than its host should be kept waiting."""


class WebAccess(FetcherPort, Protocol):
    """Fetches pages and reads them, wherever that is done."""

    async def visit(self, request: Request) -> Visit:
        """Ask for a page or a sitemap; the host is free again when this answers."""

    async def rules(self, page: Response, url: str) -> Timed[Rules | Failed]:
        """What the robots.txt at this URL says to us; a failure if it was too much."""

    async def recalled(self, text: str, url: str) -> Timed[Rules | Failed]:
        """Rules as they were kept."""


class Clock(Protocol):
    """Two times: one that never jumps, for waiting; and the time of day, for what is kept."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""

    def today(self) -> float:
        """Seconds since 1970."""
