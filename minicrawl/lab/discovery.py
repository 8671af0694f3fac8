"""Orders in which a web is discovered: each page is read once, and only known pages can be read.

cash          opic; opic-replay; hash, which multiplies the cash by a little chance; siblings
links         backlink-count, larger-sites-first
PageRank      of the known pages, computed again after every hundredth of the web read
truth         oracle

With `pagerank-return` an unread page returns most of what it is given to the giver. So a page with
many unread links is not drained by them: nobody knows yet where those lead.
"""

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import repeat
from random import Random

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.adjacency import Weights
from minicrawl.graph.csr import Csr
from minicrawl.lab.webs import BySiblings, Cycle, Exploration, Greedy, Lottery, Strategy
from minicrawl.opic.ledger import READ, UNREAD, Ledger, Plan, replay
from minicrawl.opic.queues import CandidateHeap
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank

REPLAYS = 5
"""Number of pages that spend again after each fetch, in the order `opic-replay`."""

TO_SEEDS = 0.05
"""Part of the jumps that go to seeds, in `pagerank-seeds` and `pagerank-return`."""

RETURNED = 0.7
"""Part of a gift that an unread page returns, in `pagerank-return`."""

LUCK = -0.03
"""Exponent of a page's random number, in the order `hash`."""

_ALL_ATOMS = 1 << 62

Floats = NDArray[np.float64]


class BacklinkCount:
    """Most linked page first, by the pages read so far."""

    def __init__(self, ledger: Ledger, pool: int = UNREAD) -> None:
        self._links_to = array("q")
        self._richest = CandidateHeap(self._links_to, ledger.flags, pool)

    def born(self, pages: Sequence[int]) -> None:
        self._links_to.extend(repeat(0, len(pages)))
        self._richest.offer(pages)

    def take(self) -> int | None:
        return self._richest.take()

    def settled(self, plan: Plan) -> None:
        for page in plan.links:
            self._links_to[page] += 1
        self._richest.offer(plan.links)
        self._richest.release(plan.page)

    def put_back(self, page: int) -> None:
        self._richest.release(page)


class LargerSitesFirst:
    """Site with most waiting pages first; within a site, in the order of discovery."""

    def __init__(self, site_of: Callable[[int], int]) -> None:
        self._site_of = site_of
        self._waiting: dict[int, deque[int]] = {}
        self._sites: list[tuple[int, int]] = []

    def born(self, pages: Sequence[int]) -> None:
        for page in pages:
            self._waiting.setdefault(self._site_of(page), deque()).append(page)
            self._rank(self._site_of(page))

    def take(self) -> int | None:
        while self._sites:
            waiting, site = heappop(self._sites)
            pages = self._waiting[site]
            if len(pages) == -waiting:
                page = pages.popleft()
                self._rank(site)
                return page
        return None

    def settled(self, plan: Plan) -> None:
        """A page that was taken waits no longer: nothing to do."""

    def put_back(self, page: int) -> None:
        site = self._site_of(page)
        self._waiting[site].appendleft(page)
        self._rank(site)

    def _rank(self, site: int) -> None:
        if self._waiting[site]:
            heappush(self._sites, (-len(self._waiting[site]), site))


# ---------------------------------------------------------------- unknown webs only


class Oracle:
    """Most important page first, by the truth; pages must still be reached by links."""

    def __init__(self, crawl: Exploration) -> None:
        self._crawl = crawl
        self._truth = array("q")
        self._richest = CandidateHeap(self._truth, crawl.ledger.flags, UNREAD)

    def born(self, pages: Sequence[int]) -> None:
        truth = self._crawl.truth
        self._truth.extend(int(truth[self._crawl.pages[page]] * _ALL_ATOMS) for page in pages)
        self._richest.offer(pages)

    def take(self) -> int | None:
        return self._richest.take()

    def settled(self, plan: Plan) -> None:
        self._richest.release(plan.page)

    def put_back(self, page: int) -> None:
        self._richest.release(page)


class RecomputedPageRank:
    """Highest PageRank first, computed on the known pages after every hundredth of the web read.

    `to_seeds` is the part of the jumps that go to seeds, `returned` the part of a gift that an
    unread page returns.
    """

    def __init__(self, crawl: Exploration, to_seeds: float = 0.0, returned: float = 0.0) -> None:
        self._crawl = crawl
        self._options = PageRankOptions(
            damping=1 - crawl.small_edge, dangling=Dangling.TELEPORT, tolerance=1e-6
        )
        self._to_seeds, self._returned = to_seeds, returned
        self._every = max(1, crawl.web.graph.nodes // 100)
        self._sources, self._targets = array("q"), array("q")
        self._best: list[int] = []
        self._leased: set[int] = set()
        self._rank: Floats | None = None

    def born(self, pages: Sequence[int]) -> None:
        """New pages wait for the next computation: nothing to do."""

    def take(self) -> int | None:
        if not self._best:
            self._recompute()
        if not self._best:
            return None
        page = self._best.pop()
        self._leased.add(page)
        return page

    def settled(self, plan: Plan) -> None:
        self._leased.discard(plan.page)
        self._sources.extend([plan.page] * len(plan.links))
        self._targets.extend(plan.links)

    def put_back(self, page: int) -> None:
        self._leased.discard(page)
        self._best.append(page)

    def _recompute(self) -> None:
        known = len(self._crawl.ledger.flags)
        is_unread = np.frombuffer(self._crawl.ledger.flags, dtype=np.uint8) & READ == UNREAD
        graph, weights = self._walked(is_unread)
        found = pagerank(
            graph,
            weights,
            options=self._options,
            teleport=self._jumps(known),
            start=self._warm(known),
        )
        self._rank = found.values.astype(np.float64)
        unread = np.flatnonzero(is_unread)
        unread = unread[~np.isin(unread, list(self._leased))]
        best = np.argsort(-self._rank[unread], kind="stable")[: self._every]
        self._best = unread[best][::-1].tolist()

    def _walked(self, is_unread: NDArray[np.bool_]) -> tuple[Csr, Weights | None]:
        """Return the known links, and their weights if unread pages return a part.

        A returned part never left, in effect: it is a link of the giver to itself.
        """
        sources, targets = np.array(self._sources), np.array(self._targets)
        if not self._returned:
            return Csr.from_edges(len(is_unread), sources, targets), None
        comes_back = self._returned * np.bincount(
            sources[is_unread[targets]], minlength=len(is_unread)
        )
        givers = np.flatnonzero(comes_back)
        graph = Csr.from_edges(
            len(is_unread), np.append(sources, givers), np.append(targets, givers)
        )
        sources, own = graph.sources(), sources[sources == targets]
        comes_back[own] += 1
        weights = np.where(is_unread[graph.targets], 1 - self._returned, 1.0)
        weights = np.where(sources == graph.targets, comes_back[sources], weights)
        return graph, weights.astype(np.float32)

    def _jumps(self, known: int) -> Floats:
        jumps = np.full(known, (1 - self._to_seeds) / known)
        jumps[list(self._crawl.seeds)] += self._to_seeds / len(self._crawl.seeds)
        return jumps

    def _warm(self, known: int) -> Floats:
        """Return the last ranks as a start; new pages get the mean."""
        before = np.zeros(0) if self._rank is None else self._rank
        after = np.full(known, 1 / known)
        after[: len(before)] = before * (len(before) / known)
        return after


class CashAndChance:
    """CandidateHeap page first, with cash multiplied by a little chance.

    So pages with equal cash, mostly of one template, are not all read in a row.
    """

    def __init__(self, ledger: Ledger, rng: Random) -> None:
        self._cash = ledger.key
        self._rng = rng
        self._factors = array("d")
        self._keys = array("q")
        self._richest = CandidateHeap(self._keys, ledger.flags, UNREAD)

    def born(self, pages: Sequence[int]) -> None:
        self._factors.extend((1 - self._rng.random()) ** LUCK for _ in pages)
        self._keys.extend(int(self._cash[page] * self._factors[page]) for page in pages)
        self._richest.offer(pages)

    def take(self) -> int | None:
        return self._richest.take()

    def settled(self, plan: Plan) -> None:
        for page in plan.links:
            self._keys[page] = int(self._cash[page] * self._factors[page])
        self._richest.offer(plan.links)
        self._richest.release(plan.page)

    def put_back(self, page: int) -> None:
        self._richest.release(page)


class WithReplays:
    """Greedy, and after each fetch the richest read pages spend their cash again."""

    def __init__(self, crawl: Exploration) -> None:
        self._crawl = crawl
        self._unread = Greedy(crawl.ledger, UNREAD)
        self._read = Greedy(crawl.ledger, READ)

    def born(self, pages: Sequence[int]) -> None:
        self._unread.born(pages)

    def take(self) -> int | None:
        return self._unread.take()

    def settled(self, plan: Plan) -> None:
        self._tell(plan)
        for _ in range(REPLAYS):
            page = self._read.take()
            if page is not None:
                links, _ = self._crawl.links_of(page)
                again = replay(self._crawl.ledger, page, links)
                self._crawl.ledger.post(again)
                self._tell(again)

    def put_back(self, page: int) -> None:
        self._unread.put_back(page)

    def _tell(self, plan: Plan) -> None:
        self._unread.settled(plan)
        self._read.settled(plan)


OF_AN_UNKNOWN_WEB: dict[str, Callable[[Exploration, int], Strategy]] = {
    "oracle": lambda crawl, _seed: Oracle(crawl),
    "opic": lambda crawl, _seed: Greedy(crawl.ledger),
    "siblings": lambda crawl, _seed: BySiblings(crawl),
    "opic-replay": lambda crawl, _seed: WithReplays(crawl),
    "hash": lambda crawl, seed: CashAndChance(crawl.ledger, Random(seed)),
    "pagerank": lambda crawl, _seed: RecomputedPageRank(crawl),
    "pagerank-seeds": lambda crawl, _seed: RecomputedPageRank(crawl, TO_SEEDS),
    "pagerank-return": lambda crawl, _seed: RecomputedPageRank(crawl, TO_SEEDS, RETURNED),
    "backlink-count": lambda crawl, _seed: BacklinkCount(crawl.ledger),
    "breadth-first": lambda crawl, _seed: Cycle(crawl.ledger),
    "larger-sites-first": lambda crawl, _seed: LargerSitesFirst(crawl.site_of),
    "random": lambda crawl, seed: Lottery(crawl.ledger, Random(seed)),
}
"""Orders in which the pages of an unknown web are read, each once."""
