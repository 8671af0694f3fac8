"""Sums over all pages and over the pages of a site, as the order by siblings looks them up.

Law: a sum that moves with every step would change all keys with every step. So what the order uses
is the sum as of the last *round*. A round ends when a mean has moved, or what is counted has grown,
by a thirty-second; then all groups that depend on it are keyed anew. Means settle, so rounds become
rare. A round is told by sums alone, so the same steps make the same rounds.

turn      the first turn of a page, or that of a page that waited again
income    units that came to a site along links from other sites
reads     turns of a site's pages
budget    of a site without a seed: 200 turns + 100 a unit of income. Past that all its groups have
          at most factor 1, times budget / reads: a farm that links to itself earns nothing.
          All hosts of a registrable domain are one site.

Gifts from other hosts are counted many at a time, and whenever a round of a site ends. Until then
nobody asks for the sites of hosts, but for that of a host with a turn and no seed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from itertools import chain, repeat
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FREE_READS, READS_A_UNIT = 200, 100
GIFTS_AT_ONCE, PATIENCE = 1024, 16
"""Where no site has had its free turns yet, gifts wait until they are so many times as many."""
_SMALL = 1 / 32
_GROWTH = 1 + _SMALL


class Means:
    """What a turn brings: the means over all turns, as of the last round."""

    __slots__ = (
        "linked",
        "mean_linked",
        "mean_revealed",
        "revealed",
        "step_bits",
        "turns",
    )

    def __init__(self) -> None:
        self.turns = self.linked = self.step_bits = 0
        self.revealed = self.mean_revealed = self.mean_linked = 0.0

    def count(self, revealed: float, linked: int) -> bool:
        """One more turn; whether a round ends."""
        self.turns += 1
        self.revealed += revealed
        self.linked += linked
        now_revealed, now_linked = self.revealed / self.turns, self.linked / self.turns
        if _is_near(now_revealed, self.mean_revealed) and _is_near(now_linked, self.mean_linked):
            return False
        self.mean_revealed, self.mean_linked = now_revealed, now_linked
        self.step_bits = max(0, (int(self.mean_linked) >> 2).bit_length() - 1)
        return True

    def state(self) -> dict[str, bytes]:
        """All of it, by a name."""
        return {"means": array("d", [getattr(self, name) for name in self.__slots__]).tobytes()}

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Go on from what was saved."""
        for name, value in zip(self.__slots__, array("d", state["means"]), strict=True):
            setattr(self, name, type(getattr(self, name))(value))


def _is_near(now: float, last: float) -> bool:
    return abs(now - last) <= last * _SMALL


class Round(NamedTuple):
    """A site as it was when its budget was looked at last."""

    reads: int
    budget: float


class SiteBudgets:
    """Turns and incomes of sites. A site has the number of its first known host."""

    __slots__ = (
        "_find_sites",
        "_givers",
        "_site_of",
        "_takers",
        "_units",
        "_unsettled",
        "_vouched",
        "income",
        "reads",
        "rounds",
    )

    def __init__(self, site_of: array[int], find_sites: Callable[[], None] | None = None) -> None:
        """`site_of` has the site of each host; `find_sites` adds those of new ones."""
        self._site_of, self._find_sites = site_of, find_sites
        self.reads, self.income = array("I"), array("d")
        self.rounds: dict[int, Round] = {}
        """Those of sites that have had their free turns."""
        self._takers, self._givers, self._units = array("I"), array("I"), array("d")
        self._vouched, self._unsettled = set[int](), list[int]()
        """Hosts with a seed, and those whose sites nobody has asked for."""

    def vouch(self, host: int) -> list[int]:
        """The user named a page of the host. Answers with the sites whose rounds end."""
        if host in self._vouched:
            return []
        self._vouched.add(host)
        self._unsettled.append(host)
        return self._settle() if self.rounds else []

    def read(self, host: int) -> list[int]:
        """A page of the host had its turn. Answers like `vouch`."""
        if host in self._vouched:
            return []
        site = self._site(host)
        reads = self.reads[site] = self.reads[site] + 1
        if reads <= FREE_READS or self.income[site] == inf:
            return []
        last = self.rounds.get(site)
        if last is not None and reads < last.reads * _GROWTH:
            return []
        ended = self.count_gifts()
        return ended if self.income[site] == inf else [*ended, self._look(site)]

    def earn(self, hosts: NDArray[np.uint32], giver: int, units: NDArray[np.float64]) -> list[int]:
        """Pages of these hosts were given units by a page of another one. Answers like `vouch`."""
        self._takers.frombytes(hosts.tobytes())
        self._givers.extend(repeat(giver, len(hosts)))
        self._units.frombytes(units.tobytes())
        most = GIFTS_AT_ONCE * (1 if self.rounds else PATIENCE)
        return self.count_gifts() if len(self._takers) >= most else []

    def hold_back(self, host: int, factor: float) -> float:
        """The factor of a group of the host, by the budget of its site."""
        if not self.rounds:
            return factor
        last = self.rounds.get(self._site(host))
        if last is None or last.reads <= last.budget:
            return factor
        return min(factor, 1.0) * last.budget / last.reads

    def state(self) -> dict[str, bytes]:
        """All of it, by names."""
        rounds = [(site, last.reads, last.budget) for site, last in self.rounds.items()]
        return {
            "reads": self.reads.tobytes(),
            "income": self.income.tobytes(),
            "rounds": array("d", chain.from_iterable(rounds)).tobytes(),
            "vouched": array("I", sorted(self._vouched)).tobytes(),
            "unsettled": array("I", self._unsettled).tobytes(),
            "takers": self._takers.tobytes(),
            "givers": self._givers.tobytes(),
            "units": self._units.tobytes(),
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Go on from what was saved."""
        self.reads.frombytes(state["reads"])
        self.income.frombytes(state["income"])
        rounds = array("d", state["rounds"])
        for site, reads, budget in zip(rounds[::3], rounds[1::3], rounds[2::3], strict=True):
            self.rounds[int(site)] = Round(int(reads), budget)
        self._vouched.update(array("I", state["vouched"]))
        self._unsettled.extend(array("I", state["unsettled"]))
        self._takers.frombytes(state["takers"])
        self._givers.frombytes(state["givers"])
        self._units.frombytes(state["units"])

    def hosts(self, site: int) -> list[int]:
        """The hosts of a site."""
        self._find()
        sites = np.frombuffer(self._site_of, dtype=np.uint32)
        return np.flatnonzero(sites == site).tolist()

    def count_gifts(self) -> list[int]:
        """Add up the gifts that wait. Answers with the sites for which that ends a round."""
        ended = self._settle()
        self._find()
        site_of = np.frombuffer(self._site_of, dtype=np.uint32)
        takers, givers = site_of[np.array(self._takers)], site_of[np.array(self._givers)]
        is_away, units = takers != givers, np.array(self._units)
        takers = takers[is_away]
        self._grow(int(takers.max(initial=0)))
        np.add.at(np.frombuffer(self.income, dtype=np.float64), takers, units[is_away])
        self._takers, self._givers, self._units = array("I"), array("I"), array("d")
        earned = set(takers.tolist()).intersection(self.rounds) if self.rounds else ()
        rich = [site for site in earned if self._budget(site) >= self.rounds[site].budget * _GROWTH]
        return ended + list(map(self._look, rich))

    def _settle(self) -> list[int]:
        """The sites of hosts with a seed have no budget. Answers like `vouch`."""
        sites = list(dict.fromkeys(map(self._site, self._unsettled)))
        self._unsettled.clear()
        for site in sites:
            self.income[site] = inf
        return [self._look(site) for site in sites if site in self.rounds]

    def _look(self, site: int) -> int:
        self.rounds[site] = Round(self.reads[site], self._budget(site))
        return site

    def _budget(self, site: int) -> float:
        return FREE_READS + READS_A_UNIT * self.income[site]

    def _site(self, host: int) -> int:
        if host >= len(self._site_of):
            self._find()
        site = self._site_of[host]
        if site >= len(self.reads):
            self._grow(site)
        return site

    def _find(self) -> None:
        if self._find_sites is not None:
            self._find_sites()

    def _grow(self, site: int) -> None:
        missing = site + 1 - len(self.reads)
        if missing > 0:
            self.reads.extend(repeat(0, missing))
            self.income.extend(repeat(0.0, missing))
