"""A bandit over link places, a baseline for orders of reading.

The links in one place of a site, such as its menus, its lists or its articles, lead to similar
pages. So a crawl can learn which places lead on, as a gambler learns which arms of a machine pay.
A graph file has no markup: a *place* is here the host of a page and the power of two of its number
of links, which differs between menus, lists and articles.

A page belongs to the place of the link that made it known. Reading it pays the share of its links
that were new. The place with the highest upper confidence bound (UCB1) comes first, and in it the
page with most cash:

    bound = (payments + mean) / (n + 1) + sqrt(2 ln t / (n + 1))    n of t reads were of this place

`mean` is the mean payment of all places: a new place counts as read once, with that payment. Places
without waiting pages take no part. Bounds are computed anew whenever reads have grown by a
hundredth.

Example: after 4 reads, place a has been read 3 times and paid .9 in all, place b once and paid .1.
The mean is .25, so the bounds are 1.15 / 4 + sqrt(2 ln 4 / 4) = 1.12 and .35 / 2 + 1.18 = 1.35: b
is next, though it paid less, because little is known of it.
"""

from array import array
from collections.abc import Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.orders import ByKey, KnownPages
from minicrawl.lab.webs import Floats
from minicrawl.opic.ledger.ledger import UNREAD, Plan

_SEEDS = 0
_CASH_BITS, _BOUND_SCALE = 44, 1 << 14


def bounds(reads: NDArray[np.int64], payments: Floats) -> Floats:
    """Return the upper confidence bound of each place."""
    turns, known = max(int(reads.sum()), 1), reads + 1
    upper: Floats = (payments + payments.sum() / turns) / known + np.sqrt(2 * np.log(turns) / known)
    return upper


class PlaceKeys:
    """Sort keys of the pages: bounds of their places, then cash. New pages wait for a bound."""

    def __init__(self) -> None:
        self.keys = array("q")

    def grow(self, pages: range) -> None:
        self.keys.extend(repeat(0, len(pages)))


class ByPlace(ByKey):
    """Queue of a bandit: the best place first, and in it the richest page."""

    def __init__(self, crawl: KnownPages) -> None:
        order = PlaceKeys()
        super().__init__(crawl, order)
        self._crawl, self._keys = crawl, order.keys
        self._places = {(-1, 0): _SEEDS}
        self._place_of = array("I", repeat(_SEEDS, len(crawl)))
        self._reads, self._paid = array("q", [0]), array("d", [0.0])
        self._turns = self._due = 0

    def take(self) -> int | None:
        if self._turns >= self._due:
            self._compute()
            self._due = self._turns + max(1, self._turns // 100)
        return super().take()

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        for plan in plans:
            self._learn(plan, len(new))
        super().posted(plans, new, paid)

    def _learn(self, plan: Plan, new: int) -> None:
        """Count a read and its payment, and give its new pages a place."""
        place = self._place_of[plan.page]
        self._turns += 1
        self._reads[place] += 1
        self._paid[place] += new / max(len(plan.links), 1)
        shown = self._crawl.urls.host_of[plan.page], len(plan.links).bit_length()
        here = self._places.setdefault(shown, len(self._places))
        if here == len(self._reads):
            self._reads.append(0)
            self._paid.append(0.0)
        self._place_of.extend(repeat(here, new))

    def _compute(self) -> None:
        """Compute all keys anew, and let every host look for its best page again."""
        upper = bounds(np.array(self._reads), np.array(self._paid))
        whole = (upper * _BOUND_SCALE).astype(np.int64) << _CASH_BITS
        cash = np.frombuffer(self._crawl.ledger.key, dtype=np.int64)
        richest = (1 << _CASH_BITS) - 1
        waits = np.frombuffer(self._crawl.ledger.flags, dtype=np.uint8) == UNREAD
        places = np.frombuffer(self._place_of, dtype=np.uint32)
        keys = np.frombuffer(self._keys, dtype=np.int64)
        keys[waits] = whole[places[waits]] + np.clip(cash[waits], 0, richest)
        self.enqueue_blocks(())
