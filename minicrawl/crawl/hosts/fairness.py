"""Fairness: a host that costs more processor time than others waits longer.

Laws: a request that costs no more than a few usual ones is free, and so is a large page now and
then. What a host costs beyond that on average delays its next request, so that all expensive hosts
together take about half of one processor. No host waits if it is the only one, if all cost alike,
or while no other host is due.

cost       processor time spent on a host's bytes: decoding, parsing, robots.txt checks, settling
usual      what a request to a cheap host costs: a low quantile over the hosts asked lately, so that
           the many hosts of an attacker do not make an attack look usual
free       a few times the usual cost
excess     what a request costs beyond that
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicrawl.crawl.hosts.host_state import NameState

SHARE = 0.5
"""Of one processor, for all expensive hosts together."""
WINDOW_S = 10.0
"""A host counts as expensive for so long after its last expensive request."""
FREE_S = 0.002
"""No request is expensive below this: it is four times what a page of 20 kB costs."""
MANY_TIMES = 4
"""What is free, in usual costs: pages of one site differ by as much."""
QUANTILE = 0.2
UNASKED = 1 / 10
"""What a page that is settled without a request may cost, in requests."""
FREE_UNASKED_S = FREE_S * UNASKED
"""No page that is settled without a request is expensive below this."""
IDLE_S = 0.2
"""If no host is due sooner, there is time for expensive ones."""
_MOST_HOSTS = 4096
_MOST_CHARGED = 1000
_UPDATE_EVERY_S = 1.0
_WEIGHT = 0.3  # of the last request in the mean of a host


class FairShare:
    """What the hosts asked lately have cost, by name."""

    def __init__(self) -> None:
        self._means: OrderedDict[str, float] = OrderedDict()
        self._expensive: OrderedDict[str, float] = OrderedDict()
        self._free_s = FREE_S
        self._updated_at = 0.0

    def pause_s(self, host: str, cost_s: float, now: float) -> float:
        """How long the host waits for what a request to it has cost."""
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
        """The same for a page that was settled without a request."""
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
    """Delays hosts for what they cost, and lets them go on when there is time for them."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._fair_share = FairShare()
        self._delayed: dict[str, NameState] = {}

    def charge(self, host: NameState, cost_s: float, now: float) -> None:
        """A request to the host has cost so much processor time."""
        pause_s = self._fair_share.pause_s(host.name, cost_s, now)
        if pause_s:
            self._delay(host, pause_s, now)

    def charge_unasked(self, host: NameState, cost_s: float, now: float) -> None:
        """A page of it that was settled without a request has cost so much."""
        pause_s = self._fair_share.pause_unasked_s(host.name, cost_s, now)
        if pause_s:
            self._delay(host, pause_s, now)

    def release_first(self, now: float, due: float | None) -> NameState | None:
        """End one delay if no other host is due soon; the host whose delay it was."""
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
    """Held by one at a time: of all hosts that wait for it the one that has cost least is next.

    Hosts that were never charged share one account, so that endless new hosts cannot keep out those
    that are known.
    """

    def __init__(self) -> None:
        self._strangers_s = 0.0
        self._is_taken = False
        self._waiting: dict[asyncio.Future[None], tuple[str, int]] = {}
        self._numbers = count()
        self._costs_s: OrderedDict[str, float] = OrderedDict()

    @property
    def is_taken(self) -> bool:
        """Whether somebody holds it."""
        return self._is_taken

    @asynccontextmanager
    async def held_for(self, host: str) -> AsyncIterator[None]:
        """Wait until nobody else holds it, and hold it."""
        if self._is_taken:
            called = asyncio.get_running_loop().create_future()
            self._waiting[called] = host, next(self._numbers)
            try:
                await called
            except asyncio.CancelledError:
                self._waiting.pop(called, None)
                if (
                    called.done() and not called.cancelled()
                ):  # it was handed to us already: hand it on
                    self._call_next()
                raise
        self._is_taken = True
        try:
            yield
        finally:
            self._call_next()

    def charge(self, host: str, cost_s: float) -> None:
        """What the host held it for has cost so much."""
        before_s = self._costs_s.pop(host, None)
        self._strangers_s += cost_s if before_s is None else 0.0
        self._costs_s[host] = (before_s or 0.0) + cost_s
        if len(self._costs_s) > _MOST_CHARGED:
            self._costs_s.popitem(last=False)

    def _call_next(self) -> None:
        """Hand it to the next one, which holds it from this moment on."""
        waiting = [called for called in self._waiting if not called.cancelled()]
        self._is_taken = bool(waiting)
        if waiting:
            called = min(waiting, key=self._rank)
            del self._waiting[called]
            called.set_result(None)

    def _rank(self, called: asyncio.Future[None]) -> tuple[float, int]:
        host, number = self._waiting[called]
        return self._costs_s.get(host, self._strangers_s), number
