"""Request slots: which hosts may hold the requests that are under way at once.

Laws: silent hosts hold at most their share of all slots, so that there is always room for those
that answer; a host is silent until its first answer, and again after a request that got none. A
request that takes long counts among theirs. When all slots are taken, too many of them by slow
requests, the one that has been under way longest is ended: its page is asked for again, as one of a
silent host. Pages that wait to be read hold no slots; while very many do, strangers wait as well,
but not hosts that have shown what their pages are like.

slow       under way for `SLOW_S`, of a host that answered before
stranger   a host that no page has come from
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from minicrawl.config import Politeness

SLOW_S = 2.0
MOST_WAITING = 2
"""Strangers, and pages that wait to be read, for each slot."""


@dataclass(slots=True, eq=False)
class RequestSlot:
    """What a request holds while it is under way; `give_up` ends it."""

    began: float
    is_silent: bool
    is_strange: bool = False
    give_up: Callable[[], object] | None = None
    was_given_up: bool = False


class RequestSlots:
    """All slots that are taken; `resume` is called with a host that waited for one."""

    def __init__(
        self,
        politeness: Politeness,
        resume: Callable[[int], None],
        idle: Callable[[], int] = lambda: 0,
        waiting: Callable[[], int] = lambda: 0,
    ) -> None:
        """`idle` counts the slots whose holders send no request now, as they wait for a host, and
        `waiting` the turns in which something waits to be read.
        """
        self._idle, self._to_be_read = idle, waiting
        self.resize(politeness)
        self._resume = resume
        self._silent = self._strange = 0
        self._others: dict[RequestSlot, None] = {}  # in the order in which they began
        self._waiting: dict[int, None] = {}

    def resize(self, politeness: Politeness) -> None:
        """Have as many slots as this from now on."""
        self._most_strange = MOST_WAITING * politeness.concurrency
        self._most_silent = max(1, int(politeness.concurrency * politeness.silent_share))

    def has_room_for_silent(self) -> bool:
        """Whether one more host that does not answer may be asked."""
        return self._silent - self._idle() < self._most_silent and self.has_room_for_strangers()

    def has_room_for_strangers(self) -> bool:
        """Whether one more host may be asked that no page has come from."""
        waiting = self._to_be_read()
        return not waiting or self._strange + waiting < self._most_strange

    def wait(self, host: int) -> None:
        """The host is silent or a stranger, and is resumed when there is room for it."""
        self._waiting[host] = None

    def resume_one(self) -> bool:
        """Resume a host that waits, if there is room; whether there was one.

        It may not take the slot.
        """
        if not (self._waiting and self.has_room_for_silent()):
            return False
        host = next(iter(self._waiting))
        del self._waiting[host]
        self._resume(host)
        return True

    def take(self, now: float, *, is_silent: bool, is_strange: bool = False) -> RequestSlot:
        """A request starts."""
        slot = RequestSlot(now, is_silent, is_strange)
        self._strange += is_strange
        if is_silent:
            self._silent += 1
        else:
            self._others[slot] = None
        return slot

    def leave(self, slot: RequestSlot) -> None:
        """The request is over."""
        self._strange -= slot.is_strange
        if slot.is_silent:
            self._silent -= 1
        else:
            del self._others[slot]
        if self._waiting and (slot.is_silent or slot.is_strange):
            self.resume_one()

    def has_too_many_slow(self, now: float) -> bool:
        """Whether slow requests and silent hosts hold more than their share together."""
        slow = sum(1 for slot in self._slow(now) if slot.give_up is not None)
        return slow > 0 and self._silent + slow > self._most_silent

    def give_up_slowest(self, now: float) -> None:
        """End the request that has been under way longest."""
        for slot in self._slow(now):
            if slot.give_up is not None:
                slot.was_given_up = True
                slot.give_up()
                slot.give_up = None
                return

    def next_slow(self, now: float) -> float | None:
        """When the next request becomes slow."""
        return next((s.began + SLOW_S for s in self._others if s.began + SLOW_S > now), None)

    def _slow(self, now: float) -> Iterator[RequestSlot]:
        return takewhile(lambda slot: slot.began + SLOW_S <= now, self._others)
