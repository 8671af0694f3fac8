"""The seam between the fetcher and the ways to send a request.

`fetch.connection.client` is the usual transport; `fetch.httpx_transport` lets any transport of
httpx take its place.

Law: a transport raises what `minicrawl.fetch.failures.EXPECTED` names; anything else is a bug.
"""

from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from minicrawl.fetch.where.resolve_rules import ConnectTarget
from minicrawl.fetch.where.targets import Target


@dataclass(frozen=True, slots=True)
class TransportRequest:
    """A GET. `places` are the addresses that it may connect to, the best first."""

    target: Target
    places: tuple[ConnectTarget, ...]
    headers: Sequence[tuple[bytes, bytes]]


class ResponseStream(Protocol):
    """A response whose head has come. The caller closes it, whether it read the body or not."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name."""
        ...

    @property
    def body(self) -> AsyncIterable[bytes]:
        """Chunks of the body as they come, not decoded."""
        ...

    async def aclose(self) -> None:
        """Give up the rest of the body."""


class Transport(Protocol):
    """A way to send requests."""

    async def send(self, request: TransportRequest) -> ResponseStream:
        """Send a request and wait for the head of the response."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
