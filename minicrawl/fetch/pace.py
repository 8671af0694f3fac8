"""How long a body may take, and how much of the loop and of memory all of them together.

Laws: however many bombs come at once, between two turns of the loop bodies swell by no more than a
breath and what one piece of one of them holds. All bodies under way together are little larger than
`max_bytes`, or than what one of them may be: beyond that, the largest of them is cut where it is.
"""

import asyncio
from typing import NamedTuple, Protocol

_BREATH_BYTES = 1_000_000
_BYTES_PER_S = 250e6
"""After a breath of bombs there is a rest: they do not keep the processor for themselves."""
_BOMB = 32
"""Times its size: no text swells by so much."""


class Growing(Protocol):
    """A body under way."""

    length: int
    cap: int

    def cut_here(self) -> None:
        """No more of it is wanted."""


class Breath:
    """What bodies have swollen by in this turn of the loop, and all that is held."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._drawn_bytes = self._bomb_bytes = 0
        self._anew = asyncio.Event()
        self._held_bytes = 0
        self._held: dict[Growing, None] = {}

    @property
    def is_out(self) -> bool:
        """Enough was decoded for one turn."""
        return self._drawn_bytes > _BREATH_BYTES

    def draw(self, body: Growing, size: int, came: int) -> None:
        """A body has grown so much, by so many bytes that came."""
        if size > came:
            if not self._drawn_bytes:
                asyncio.get_running_loop().call_soon(self._end_turn)
            self._drawn_bytes += size - came
            self._bomb_bytes += max(size - came * _BOMB, 0)
        self._held_bytes += size
        self._held[body] = None
        if self._held_bytes > self._max_bytes:
            self._cut_largest()

    def let_go(self, body: Growing) -> None:
        """It is no longer under way."""
        if body in self._held:
            self._held_bytes -= body.length
            del self._held[body]

    async def wait(self) -> None:
        """Until nobody has decoded too much lately."""
        while self.is_out:
            self._anew.clear()
            await self._anew.wait()

    def _end_turn(self) -> None:
        if self.is_out and self._bomb_bytes:
            rest_s = self._bomb_bytes / _BYTES_PER_S
            asyncio.get_running_loop().call_later(rest_s, self._begin_anew)
        else:
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._drawn_bytes = self._bomb_bytes = 0
        self._anew.set()

    def _cut_largest(self) -> None:
        if self._held_bytes > max(body.cap for body in self._held):
            largest = max(self._held, key=lambda body: body.length)
            self.let_go(largest)
            largest.cut_here()


class Pace(NamedTuple):
    """`until` is by the loop's clock; None is no hurry."""

    breath: Breath
    until: float | None = None
