"""What carries a question to its server: the seam between asking and the ways to ask.

Production asks by `fetch.connection.client`; `fetch.httpx_transport` lets any transport
of httpx take its place.

Law: what a transport raises is among `minicrawl.fetch.failures.EXPECTED`, or a mistake of ours.
"""

from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from minicrawl.fetch.where.resolve_rules import ConnectTarget
from minicrawl.fetch.where.targets import Target


@dataclass(frozen=True, slots=True)
class TransportRequest:
    """A GET. `places` are all that may be connected to, the best first."""

    target: Target
    places: tuple[ConnectTarget, ...]
    headers: Sequence[tuple[bytes, bytes]]


class ResponseStream(Protocol):
    """An answer whose head has come; whoever asked closes it, read or not."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name."""
        ...

    @property
    def body(self) -> AsyncIterable[bytes]:
        """As it comes, still coded."""
        ...

    async def aclose(self) -> None:
        """What is still to come is not wanted."""


class Transport(Protocol):
    """A way to ask."""

    async def ask(self, question: TransportRequest) -> ResponseStream:
        """Until the head of the answer is there."""
        ...

    async def aclose(self) -> None:
        """Nothing is asked any more."""
