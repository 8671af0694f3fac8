"""Fairness: a host that costs more processor time than others waits longer.

Laws: a request that costs no more than a few usual ones is free, and so is an occasional large
page. If the average cost of a host is higher, the excess of each request delays the next one, so
that all expensive hosts together take about half of one processor. No host waits if it is the
only one, if all cost the same, or while no other host is due.

cost       processor time spent on a host's bytes: decoding, parsing, robots.txt checks, settling
usual      cost of a request to a cheap host: a low quantile over the hosts contacted lately, so
           that the many hosts of an attacker do not make an attack look usual
free       a few times the usual cost
excess     cost of a request beyond the free cost
"""

from collections import OrderedDict
from math import inf

from minicrawl.crawl.hosts.host import NameState

SHARE = 0.5
"""Share of one processor for all expensive hosts together."""
WINDOW_S = 10.0
"""Time for which a host counts as expensive after its last expensive request."""
FREE_S = 0.002
"""Least free cost: four times that of a 20 kB page."""
MANY_TIMES = 4
"""Free cost as a multiple of the usual one: the costs of a site's pages differ by as much."""
QUANTILE = 0.2
WITHOUT_REQUEST = 1 / 10
"""Free cost of a page that is settled without a request, relative to that of a request."""
IDLE_S = 0.2
"""An expensive host is released if no other host is due within this time."""
_MOST_HOSTS = 4096
_UPDATE_EVERY_S = 1.0
_WEIGHT = 0.3  # of the last request in the mean of a host


class FairShare:
    """Costs of the hosts contacted lately, by name, and their delays, which end early if there is
    time.
    """

    def __init__(self, longest_s: float = inf) -> None:
        """Set up; `longest_s` is the longest delay."""
        self._longest_s = longest_s
        self._means: OrderedDict[str, float] = OrderedDict()
        self._expensive: OrderedDict[str, float] = OrderedDict()
        self._delayed: dict[str, NameState] = {}
        self._free_s = FREE_S
        self._updated_at = 0.0

    def charge(self, host: NameState, cost_s: float, now: float, *, was_requested: bool) -> None:
        """Delay the host for the cost of a request, or of a page settled without one."""
        if pause_s := self.pause_s(host.name, cost_s, now, was_requested=was_requested):
            host.fair_at = max(host.fair_at, now + min(pause_s, self._longest_s))
            self._delayed[host.name] = host

    def pause_s(self, host: str, cost_s: float, now: float, *, was_requested: bool = True) -> float:
        """Return the time that the host waits for this cost."""
        excess_s = cost_s - self._free_s * WITHOUT_REQUEST
        if was_requested:
            before_s = self._means.pop(host, cost_s)
            self._means[host] = _WEIGHT * cost_s + (1 - _WEIGHT) * before_s
            if len(self._means) > _MOST_HOSTS:
                self._means.popitem(last=False)
            if now - self._updated_at >= _UPDATE_EVERY_S:
                self._updated_at = now
                means = sorted(self._means.values())
                self._free_s = max(FREE_S, MANY_TIMES * means[int(QUANTILE * len(means))])
            # The mean before this request decides, so that a single large page is free.
            excess_s = cost_s - self._free_s if before_s > self._free_s else 0.0
        # With one host there is nobody to be fair to.
        if excess_s <= 0 or len(self._means) == (host in self._means):
            return 0.0
        self._expensive[host] = now
        self._expensive.move_to_end(host)
        while next(iter(self._expensive.values())) < now - WINDOW_S:
            self._expensive.popitem(last=False)
        return excess_s * len(self._expensive) / SHARE

    def release_first(self, now: float, due: float | None) -> NameState | None:
        """End one delay if no other host is due soon. Return its host."""
        delayed = [host for host in self._delayed.values() if host.fair_at > now]
        self._delayed = {host.name: host for host in delayed}
        if not delayed or (due is not None and due < now + IDLE_S):
            return None
        first = min(delayed, key=lambda host: host.fair_at)
        first.fair_at = now
        return first
