"""What the crawl needs from outside, so that tests can turn the clock and play the network."""

from typing import Protocol

from minicrawl.model import Failed, Fetched, Refused, Request


class Fetcher(Protocol):
    """Asks for one URL and answers with a value, never an exception."""

    async def fetch(self, request: Request) -> Fetched:
        """What came of it."""

    async def locate(self, url: str) -> str | Refused | Failed:
        """The address that a fetch of this URL would connect to."""


class Clock(Protocol):
    """Two times: one that never jumps, for waiting; and the time of day, for what is kept."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""

    def today(self) -> float:
        """Seconds since 1970."""
