"""Fairness: a host that costs more processor time than others waits longer.

Laws: a request that costs no more than a few usual ones is free, and so is an occasional large
page. The average cost of a host beyond that delays its next request, so that all expensive hosts
together take about half of one processor. No host waits if it is the only one, if all cost the
same, or while no other host is due.

cost       processor time spent on a host's bytes: decoding, parsing, robots.txt checks, settling
usual      cost of a request to a cheap host: a low quantile over the hosts contacted lately, so
           that the many hosts of an attacker do not make an attack look usual
free       a few times the usual cost
excess     cost of a request beyond the free cost
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count, takewhile
from typing import TYPE_CHECKING

from minicrawl.config import Politeness

if TYPE_CHECKING:
    from minicrawl.crawl.hosts.politeness import NameState


SHARE = 0.5
"""Share of one processor for all expensive hosts together."""
WINDOW_S = 10.0
"""Time for which a host counts as expensive after its last expensive request."""
FREE_S = 0.002
"""Least free cost: four times that of a 20 kB page."""
MANY_TIMES = 4
"""Free cost as a multiple of the usual one: the costs of a site's pages differ by as much."""
QUANTILE = 0.2
UNASKED = 1 / 10
"""Free cost of a page that is settled without a request, relative to that of a request."""
FREE_UNASKED_S = FREE_S * UNASKED
"""Least free cost of a page that is settled without a request."""
IDLE_S = 0.2
"""Time without a due host for which an expensive host is released."""
_MOST_HOSTS = 4096
_MOST_CHARGED = 1000
_UPDATE_EVERY_S = 1.0
_WEIGHT = 0.3  # of the last request in the mean of a host


class FairShare:
    """Costs of the hosts contacted lately, by name."""

    def __init__(self) -> None:
        self._means: OrderedDict[str, float] = OrderedDict()
        self._expensive: OrderedDict[str, float] = OrderedDict()
        self._free_s = FREE_S
        self._updated_at = 0.0

    def pause_s(self, host: str, cost_s: float, now: float) -> float:
        """Return the time that the host waits for the cost of a request."""
        before_s = self._means.pop(host, cost_s)
        self._means[host] = _WEIGHT * cost_s + (1 - _WEIGHT) * before_s
        if len(self._means) > _MOST_HOSTS:
            self._means.popitem(last=False)
        if now - self._updated_at >= _UPDATE_EVERY_S:
            self._update_free_cost(now)
        if before_s <= self._free_s:
            return 0.0
        return self._pause_s(host, cost_s - self._free_s, now)

    def pause_unasked_s(self, host: str, cost_s: float, now: float) -> float:
        """Return the time that the host waits for a page that was settled without a request."""
        return self._pause_s(host, cost_s - self._free_s * UNASKED, now)

    def _pause_s(self, host: str, excess_s: float, now: float) -> float:
        if excess_s <= 0 or len(self._means) == (host in self._means):
            return 0.0
        self._expensive[host] = now
        self._expensive.move_to_end(host)
        while next(iter(self._expensive.values())) < now - WINDOW_S:
            self._expensive.popitem(last=False)
        return excess_s * len(self._expensive) / SHARE

    def _update_free_cost(self, now: float) -> None:
        self._updated_at = now
        means = sorted(self._means.values())
        usual_s = means[int(QUANTILE * len(means))]
        self._free_s = max(FREE_S, MANY_TIMES * usual_s)


class CostDelays:
    """Delays hosts for their costs, and ends a delay early when there is time."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._fair_share = FairShare()
        self._delayed: dict[str, NameState] = {}

    def charge(self, host: NameState, cost_s: float, now: float) -> None:
        """Charge the processor time of a request to the host."""
        pause_s = self._fair_share.pause_s(host.name, cost_s, now)
        if pause_s:
            self._delay(host, pause_s, now)

    def charge_unasked(self, host: NameState, cost_s: float, now: float) -> None:
        """Charge the processor time of a page that was settled without a request."""
        pause_s = self._fair_share.pause_unasked_s(host.name, cost_s, now)
        if pause_s:
            self._delay(host, pause_s, now)

    def release_first(self, now: float, due: float | None) -> NameState | None:
        """End one delay if no other host is due soon. Return its host."""
        delayed = [host for host in self._delayed.values() if host.fair_at > now]
        self._delayed = {host.name: host for host in delayed}
        if not delayed or (due is not None and due < now + IDLE_S):
            return None
        first = min(delayed, key=lambda host: host.fair_at)
        first.fair_at = now
        return first

    def _delay(self, host: NameState, pause_s: float, now: float) -> None:
        host.fair_at = max(host.fair_at, now + min(pause_s, self._longest_s))
        self._delayed[host.name] = host


class FairLock:
    """Lock for one holder at a time: of the waiting hosts, the one that has cost least is next.

    Hosts that were never charged share one account, so that endless new hosts cannot keep out known
    ones.
    """

    def __init__(self) -> None:
        self._strangers_s = 0.0
        self._is_taken = False
        self._waiting: dict[asyncio.Future[None], tuple[str, int]] = {}
        self._numbers = count()
        self._costs_s: OrderedDict[str, float] = OrderedDict()

    @property
    def is_taken(self) -> bool:
        """True while the lock is held."""
        return self._is_taken

    @asynccontextmanager
    async def held_for(self, host: str) -> AsyncIterator[None]:
        """Wait for the lock, and hold it."""
        if self._is_taken:
            called = asyncio.get_running_loop().create_future()
            self._waiting[called] = host, next(self._numbers)
            try:
                await called
            except asyncio.CancelledError:
                self._waiting.pop(called, None)
                if (
                    called.done() and not called.cancelled()
                ):  # handed to us already: hand the lock on
                    self._call_next()
                raise
        self._is_taken = True
        try:
            yield
        finally:
            self._call_next()

    def charge(self, host: str, cost_s: float) -> None:
        """Charge the host for its time with the lock."""
        before_s = self._costs_s.pop(host, None)
        self._strangers_s += cost_s if before_s is None else 0.0
        self._costs_s[host] = (before_s or 0.0) + cost_s
        if len(self._costs_s) > _MOST_CHARGED:
            self._costs_s.popitem(last=False)

    def _call_next(self) -> None:
        """Hand the lock to the next waiting host, which holds it from this moment on."""
        waiting = [called for called in self._waiting if not called.cancelled()]
        self._is_taken = bool(waiting)
        if waiting:
            called = min(waiting, key=self._rank)
            del self._waiting[called]
            called.set_result(None)

    def _rank(self, called: asyncio.Future[None]) -> tuple[float, int]:
        host, number = self._waiting[called]
        return self._costs_s.get(host, self._strangers_s), number


# ================================================================ request slots
#
# Request slots: limit which hosts may hold the requests that are under way at once.
#
# Laws: silent hosts hold at most their share of all slots, so that there is always room for hosts
# that answer; a host is silent until its first response, and again after a request without one. A
# slow request counts towards their share. When all slots are taken, too many of them by slow
# requests, the oldest request is ended: its page is requested again, as one of a silent host. Pages
# that wait to be parsed hold no slots; while very many do, strangers wait as well, but not hosts
# whose pages are known.
#
# slow       under way for `SLOW_S`, to a host that answered before
# stranger   host that no page has come from

SLOW_S = 2.0
MOST_WAITING = 2
"""Limit of strangers and pages that wait to be parsed, per slot."""


@dataclass(slots=True, eq=False)
class RequestSlot:
    """Slot of a request under way; `give_up` ends the request."""

    began: float
    is_silent: bool
    is_strange: bool = False
    give_up: Callable[[], object] | None = None
    was_given_up: bool = False


class RequestSlots:
    """Slots that are taken; `resume` is called with a host that waited for one."""

    def __init__(
        self,
        politeness: Politeness,
        resume: Callable[[int], None],
        idle: Callable[[], int] = lambda: 0,
        waiting: Callable[[], int] = lambda: 0,
    ) -> None:
        """Set up with two counts.

        `idle` counts the slots whose holders wait for a host and send no request now, and `waiting`
        the turns in which something waits to be parsed.
        """
        self._idle, self._to_be_read = idle, waiting
        self.resize(politeness)
        self._resume = resume
        self._silent = self._strange = 0
        self._others: dict[RequestSlot, None] = {}  # slots of other hosts, in order of start
        self._waiting: dict[int, None] = {}

    def resize(self, politeness: Politeness) -> None:
        """Change the number of slots to that of these settings."""
        self._most_strange = MOST_WAITING * politeness.concurrency
        self._most_silent = max(1, int(politeness.concurrency * politeness.silent_share))

    def has_room_for_silent(self) -> bool:
        """Return whether one more silent host may be contacted."""
        return self._silent - self._idle() < self._most_silent and self.has_room_for_strangers()

    def has_room_for_strangers(self) -> bool:
        """Return whether one more stranger may be contacted."""
        waiting = self._to_be_read()
        return not waiting or self._strange + waiting < self._most_strange

    def wait(self, host: int) -> None:
        """Let a silent host or a stranger wait until there is room for it."""
        self._waiting[host] = None

    def resume_one(self) -> bool:
        """Resume a waiting host, if there is room. Return whether there was one.

        The host may leave the slot unused.
        """
        if not (self._waiting and self.has_room_for_silent()):
            return False
        host = next(iter(self._waiting))
        del self._waiting[host]
        self._resume(host)
        return True

    def take(self, now: float, *, is_silent: bool, is_strange: bool = False) -> RequestSlot:
        """Take a slot for a request that starts."""
        slot = RequestSlot(now, is_silent, is_strange)
        self._strange += is_strange
        if is_silent:
            self._silent += 1
        else:
            self._others[slot] = None
        return slot

    def leave(self, slot: RequestSlot) -> None:
        """Give back the slot of a request that has ended."""
        self._strange -= slot.is_strange
        if slot.is_silent:
            self._silent -= 1
        else:
            del self._others[slot]
        if self._waiting and (slot.is_silent or slot.is_strange):
            self.resume_one()

    def has_too_many_slow(self, now: float) -> bool:
        """Return whether slow requests and silent hosts together hold more than their share."""
        slow = sum(1 for slot in self._slow(now) if slot.give_up is not None)
        return slow > 0 and self._silent + slow > self._most_silent

    def give_up_slowest(self, now: float) -> None:
        """End the oldest request."""
        for slot in self._slow(now):
            if slot.give_up is not None:
                slot.was_given_up = True
                slot.give_up()
                slot.give_up = None
                return

    def next_slow(self, now: float) -> float | None:
        """Return the time when the next request becomes slow, or None."""
        return next((s.began + SLOW_S for s in self._others if s.began + SLOW_S > now), None)

    def _slow(self, now: float) -> Iterator[RequestSlot]:
        return takewhile(lambda slot: slot.began + SLOW_S <= now, self._others)
