"""How long a body may take, and how much of the loop and of memory all of them together.

Laws: between two turns of the loop no more time is spent on bodies than a breath and one slice of
one of them. All bodies under way together are little larger than `max_bytes`, or than what one of
them may be: beyond that, the largest of them is cut where it is.
"""

import asyncio
from typing import NamedTuple, Protocol

_BREATH_S = 0.005


class GrowingBody(Protocol):
    """A body under way."""

    length: int
    cap: int

    def cut_here(self) -> None:
        """No more of it is wanted."""


class DecodeBudget:
    """The time that bodies have taken since the loop had a turn for them, and all that is held.

    It has one when they have taken enough: one for each body would be many turns for nothing.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._spent_s = 0.0
        self._anew = asyncio.Event()
        self._held_bytes = 0
        self._held: dict[GrowingBody, None] = {}

    @property
    def is_out(self) -> bool:
        """Enough was done for one turn."""
        return self._spent_s > _BREATH_S

    def spend(self, seconds: float) -> None:
        """Something was done with a body for so long."""
        before_s = self._spent_s
        self._spent_s = spent_s = before_s + seconds
        if before_s <= _BREATH_S < spent_s:
            asyncio.get_running_loop().call_soon(self._begin_anew)

    def hold(self, body: GrowingBody, size: int) -> None:
        """A body has grown so much."""
        self._held_bytes += size
        self._held[body] = None
        if self._held_bytes > self._max_bytes:
            self._cut_largest()

    def let_go(self, body: GrowingBody) -> None:
        """It is no longer under way."""
        if body in self._held:
            self._held_bytes -= body.length
            del self._held[body]

    async def wait(self) -> None:
        """Until the next turn of the loop, or a later one if others were quicker."""
        while self.is_out:
            self._anew.clear()
            await self._anew.wait()

    def _begin_anew(self) -> None:
        self._spent_s = 0.0
        self._anew.set()

    def _cut_largest(self) -> None:
        if self._held_bytes > max(body.cap for body in self._held):
            largest = max(self._held, key=lambda body: body.length)
            self.let_go(largest)
            largest.cut_here()


class BodyLimits(NamedTuple):
    """`until` is by the loop's clock; None is no hurry."""

    decode_budget: DecodeBudget
    until: float | None = None
