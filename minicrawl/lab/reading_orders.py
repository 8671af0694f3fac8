"""Orders of reading: those of a crawl, and baselines from the literature.

crawl         opic (`crawl --strategy greedy`), siblings, breadth-first, random
variation     opic-replay: read pages spend their cash again
bandit        the best link place first
links         backlink-count; larger-sites-first: the site with most waiting pages
PageRank      of the known pages, recomputed after each hundredth of the web
truth         oracle

With `pagerank-return`, an unread page returns most of a gift to the giver. So a page with many
unread links is not drained by them while nobody knows where they lead.

The bandit: the links in one place of a site, such as its menus, its lists or its articles, lead to
similar pages. So a crawl can learn which places lead on, as a gambler learns which arms of a
machine pay. A graph file has no markup: a *place* is here the host of a page and the power of two
of its number of links, which differs between menus, lists and articles.

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
from collections.abc import Callable, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.orders import ORDERS, ByCash, ByKey, KnownPages, PageQueue, queue_of
from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.lab.exploration import Exploration
from minicrawl.lab.webs import Floats
from minicrawl.opic.ledger.ledger import READ, UNREAD, Plan
from minicrawl.opic.ledger.plans import replay
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank

_SEEDS = 0
_CASH_BITS, _BOUND_SCALE = 44, 1 << 14


def bounds(reads: NDArray[np.int64], payments: Floats) -> Floats:
    """Return the upper confidence bound of each place."""
    turns, known = max(int(reads.sum()), 1), reads + 1
    upper: Floats = (payments + payments.sum() / turns) / known + np.sqrt(2 * np.log(turns) / known)
    return upper


class ByPlace(ByKey):
    """Queue of a bandit: the best place first, and in it the richest page."""

    def __init__(self, crawl: KnownPages) -> None:
        order = ByNumber(lambda _page: 0)  # new pages wait for a bound
        super().__init__(crawl, order)
        self._crawl, self._keys = crawl, order.keys
        self._places = {(-1, 0): _SEEDS}
        self._place_of = array("I", repeat(_SEEDS, len(crawl)))
        self._reads, self._paid = array("q", [0]), array("d", [0.0])
        self._turns = self._due = 0

    def take(self) -> int | None:
        if self._turns >= self._due:
            upper = bounds(np.array(self._reads), np.array(self._paid))
            whole = (upper * _BOUND_SCALE).astype(np.int64) << _CASH_BITS
            cash = np.frombuffer(self._crawl.ledger.key, dtype=np.int64)
            richest = (1 << _CASH_BITS) - 1
            waits = np.frombuffer(self._crawl.ledger.flags, dtype=np.uint8) == UNREAD
            places = np.frombuffer(self._place_of, dtype=np.uint32)
            keys = np.frombuffer(self._keys, dtype=np.int64)
            keys[waits] = whole[places[waits]] + np.clip(cash[waits], 0, richest)
            self.look_again()
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


REPLAYS = 5
"""Number of pages that spend again after each fetch, in the order `opic-replay`."""
TO_SEEDS = 0.05
"""Share of the jumps that go to seeds, in `pagerank-seeds` and `pagerank-return`."""
RETURNED = 0.7
"""Share of a gift that an unread page returns, in `pagerank-return`."""
_KEY_SCALE = 1 << 62
"""Integer key of a page that holds all importance."""


class ByNumber:
    """Order by a number that a page gets when it is found."""

    def __init__(self, number: Callable[[int], int]) -> None:
        self.keys = array("q")
        self._number = number

    def grow(self, pages: range) -> None:
        self.keys.extend(map(self._number, pages))


class ByBacklinks(ByKey):
    """Page with most links from the pages read so far first."""

    def __init__(self, crawl: Exploration) -> None:
        order = ByNumber(lambda _page: 0)
        super().__init__(crawl, order)
        self._links = order.keys

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        super().posted((), new)
        for plan in plans:
            for page in plan.links:
                self._links[page] += 1
        super().posted(plans, (), paid)


class ByCashWithReplays(ByKey):
    """Richest page first; after each fetch the richest read pages spend their cash again."""

    def __init__(self, crawl: Exploration) -> None:
        super().__init__(crawl, ByCash(crawl.ledger))
        self._crawl = crawl
        self._read = CandidateHeap(crawl.ledger.key, crawl.ledger.flags, READ)

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        super().posted(plans, new, paid)
        self._note(plans)
        for _ in range(REPLAYS):
            if (page := self._read.take()) is not None:
                again = replay(self._crawl.ledger, page, self._crawl.links_of(page)[0])
                self._crawl.ledger.post(again)
                super().posted((again,))
                self._note((again,))

    def _note(self, plans: Sequence[Plan]) -> None:
        for plan in plans:
            self._read.offer(plan.links)
            self._read.release(plan.page)


class ByRecomputedPageRank(ByKey):
    """Highest PageRank first, recomputed on the known pages after each hundredth of the web.

    `to_seeds` is the share of the jumps that go to seeds, `returned` the share of a gift that an
    unread page returns.
    """

    def __init__(self, crawl: Exploration, to_seeds: float = 0.0, returned: float = 0.0) -> None:
        order = ByNumber(lambda _page: 0)  # new pages wait for the next computation
        super().__init__(crawl, order)
        self._crawl, self._keys = crawl, order.keys
        self._options = PageRankOptions(
            damping=1 - crawl.small_edge, dangling=Dangling.TELEPORT, tolerance=1e-6
        )
        self._to_seeds, self._returned = to_seeds, returned
        self._every = max(1, crawl.web.graph.nodes // 100)
        self._left = 0  # pages until the next computation
        self._sources, self._targets = array("q"), array("q")
        self._rank = np.zeros(0)

    def take(self) -> int | None:
        if not self._left:
            self._recompute()
        page = super().take()
        if page is not None:
            self._left -= 1
        return page

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        for plan in plans:
            self._sources.extend(repeat(plan.page, len(plan.links)))
            self._targets.extend(plan.links)
        super().posted(plans, new, paid)

    def _recompute(self) -> None:
        known = len(self._crawl)
        is_unread = np.frombuffer(self._crawl.ledger.flags, dtype=np.uint8) == UNREAD
        graph, weights = self._walked(is_unread)
        jumps = np.full(known, (1 - self._to_seeds) / known)
        jumps[list(self._crawl.seeds)] += self._to_seeds / len(self._crawl.seeds)
        # Start from the last ranks, which are nearly right; new pages get the mean.
        start = np.full(known, 1 / known)
        start[: len(self._rank)] = self._rank * (len(self._rank) / known)
        scores = pagerank(graph, weights, options=self._options, teleport=jumps, start=start)
        self._rank = scores.values.astype(np.float64)
        np.frombuffer(self._keys, dtype=np.int64)[:] = self._rank * _KEY_SCALE
        self.look_again()
        self._left = min(self._every, int(is_unread.sum()) - len(self.leased))

    def _walked(self, is_unread: NDArray[np.bool_]) -> tuple[Csr, Weights | None]:
        """Return the known links, and their weights if unread pages return a share.

        A returned share stays with the giver, so it is modelled as a link to itself.
        """
        nodes = len(is_unread)
        sources, targets = np.array(self._sources), np.array(self._targets)
        if not self._returned:
            return Csr.from_edges(nodes, sources, targets), None
        to_unread = sources[is_unread[targets]]
        comes_back = self._returned * np.bincount(to_unread, minlength=nodes)
        givers = np.flatnonzero(comes_back)
        graph = Csr.from_edges(nodes, np.append(sources, givers), np.append(targets, givers))
        comes_back[sources[sources == targets]] += 1
        weights = np.where(is_unread[graph.targets], 1 - self._returned, 1.0)
        sources = graph.sources()
        weights = np.where(sources == graph.targets, comes_back[sources], weights)
        return graph, weights.astype(np.float32)


def _by_siblings(crawl: Exploration) -> PageQueue:
    crawl.judge_siblings()
    return ORDERS["siblings"](crawl)


def _larger_sites_first(crawl: Exploration) -> PageQueue:
    """Return the crawl's order by sites; a site is as important as its waiting pages are many."""

    def waiting() -> Floats:
        flags = np.frombuffer(crawl.ledger.flags, dtype=np.uint8)
        hosts = np.frombuffer(crawl.urls.host_of, dtype=np.uint32)[flags == UNREAD]
        sites = crawl.urls.sites()
        return np.bincount(sites[hosts], minlength=int(sites.max()) + 1).astype(np.float64)[sites]

    return queue_of(crawl, "breadth-first", waiting)


CRAWL_ORDERS: dict[str, Callable[[Exploration, int], PageQueue]] = {
    "oracle": lambda crawl, _seed: ByKey(
        crawl, ByNumber(lambda page: int(crawl.truth[crawl.pages[page]] * _KEY_SCALE))
    ),
    "opic": lambda crawl, _seed: ORDERS["greedy"](crawl),
    "siblings": lambda crawl, _seed: _by_siblings(crawl),
    "opic-replay": lambda crawl, _seed: ByCashWithReplays(crawl),
    "pagerank": lambda crawl, _seed: ByRecomputedPageRank(crawl),
    "pagerank-seeds": lambda crawl, _seed: ByRecomputedPageRank(crawl, TO_SEEDS),
    "pagerank-return": lambda crawl, _seed: ByRecomputedPageRank(crawl, TO_SEEDS, RETURNED),
    "bandit": lambda crawl, _seed: ByPlace(crawl),
    "backlink-count": lambda crawl, _seed: ByBacklinks(crawl),
    "breadth-first": lambda crawl, _seed: ORDERS["breadth-first"](crawl),
    "larger-sites-first": lambda crawl, _seed: _larger_sites_first(crawl),
    "random": lambda crawl, _seed: ORDERS["random"](crawl),
}
"""Orders of reading an unknown web, each page once: functions from crawl and seed to a queue."""
BY_VALUE = "value"
"""Name of the additional order for pages with values."""
