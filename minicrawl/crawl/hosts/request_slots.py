"""Places: which hosts may hold the requests that are under way at once.

Laws: hosts that do not answer hold at most their share of all places, so that there is always room
for those that do; a host does not answer until its first answer has come, and again after a request
that it left without one. A request that takes long counts among them. When all places are taken,
too many of them by slow requests, the one that is under way longest gives its place up: its page is
asked for again, among the hosts that do not answer.

slow    under way for `SLOW_S`, of a host that answered before
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from minicrawl.config import Politeness

SLOW_S = 2.0


@dataclass(slots=True, eq=False)
class RequestSlot:
    """What a turn holds; `give_up` ends its request."""

    began: float
    is_silent: bool
    give_up: Callable[[], None] | None = field(default=None)


class RequestSlots:
    """All that are taken; `resume` is told of hosts that found none before."""

    def __init__(
        self,
        politeness: Politeness,
        resume: Callable[[int], None],
        idle: Callable[[], int] = lambda: 0,
    ) -> None:
        """`idle` tells how many turns hold no request now, as they wait for another host."""
        self._idle = idle
        self._most = politeness.concurrency
        self._most_silent = max(1, int(self._most * politeness.silent_share))
        self._resume = resume
        self._silent = 0
        self._others: dict[RequestSlot, None] = {}  # in the order in which they began
        self._waiting: dict[int, None] = {}

    def has_room_for_silent(self) -> bool:
        """Whether one more host that does not answer may be asked."""
        return self._silent - self._idle() < self._most_silent

    def wait(self, host: int) -> None:
        """The host, which does not answer, is resumed when there is room for it."""
        self._waiting[host] = None

    def resume_one(self) -> bool:
        """Whether there was room for a host that waits; it may not take it."""
        if not (self._waiting and self.has_room_for_silent()):
            return False
        host = next(iter(self._waiting))
        del self._waiting[host]
        self._resume(host)
        return True

    def take(self, now: float, *, is_silent: bool) -> RequestSlot:
        """Somebody has room."""
        place = RequestSlot(now, is_silent)
        if is_silent:
            self._silent += 1
        else:
            self._others[place] = None
        return place

    def leave(self, place: RequestSlot) -> None:
        """The turn is over."""
        if not place.is_silent:
            del self._others[place]
            return
        self._silent -= 1
        self.resume_one()

    def has_too_many_slow(self, now: float) -> bool:
        """Whether slow hosts and silent ones hold more than their share together."""
        slow = sum(1 for place in self._slow(now) if place.give_up is not None)
        return slow > 0 and self._silent + slow > self._most_silent

    def give_up_slowest(self, now: float) -> None:
        """The request that is under way longest ends."""
        for place in self._slow(now):
            if place.give_up is not None:
                place.give_up()
                place.give_up = None
                return

    def next_slow(self, now: float) -> float | None:
        """When the next request will have become slow."""
        return next((p.began + SLOW_S for p in self._others if p.began + SLOW_S > now), None)

    def _slow(self, now: float) -> Iterator[RequestSlot]:
        return takewhile(lambda place: place.began + SLOW_S <= now, self._others)
