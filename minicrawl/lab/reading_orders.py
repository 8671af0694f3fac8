"""Orders of reading: those of a crawl, and baselines from the literature.

crawl         opic (`crawl --strategy greedy`), siblings, breadth-first, random
variation     opic-replay: read pages spend their cash again
bandit        the best link place first (`link_places`)
links         backlink-count; larger-sites-first: the site with most waiting pages
PageRank      of the known pages, recomputed after each hundredth of the web
truth         oracle

With `pagerank-return`, an unread page returns most of a gift to the giver. So a page with many
unread links is not drained by them while nobody knows where they lead.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.orders import (
    ORDERS,
    ByCash,
    ByKey,
    PageQueue,
    queue_of,
)
from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.lab.exploration import Exploration
from minicrawl.lab.link_places import ByPlace
from minicrawl.lab.webs import Floats
from minicrawl.opic.ledger.ledger import READ, UNREAD, Plan
from minicrawl.opic.ledger.plans import replay
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank

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
        self.enqueue_blocks(())  # keys may have fallen: every host looks for its best page again
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
