"""Orders of reading: greedy by cash, and the baselines that it is measured against.

All work in the same way: pages are `born`, a page is leased by `take`, its plan is posted and then
given to `settled`; a lease that ended without a plan is `put_back`. A strategy serves one pool, the
unread pages or the read ones: pages to discover and pages to refresh never compete.
"""

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import repeat
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.lab.exploration import Exploration
from minicrawl.lab.siblings import BySiblings
from minicrawl.opic.ledger import READ, UNREAD, Ledger, Plan
from minicrawl.opic.schedule import Richest
from minicrawl.opic.steps import replay
from minicrawl.ranks.walks.pagerank import PageRankOptions, pagerank
from minicrawl.ranks.walks.walk import Dangling

REPLAYS = 5
"""How many pages spend again after each fetch in the order `opic-replay`."""

_ALL_ATOMS = 1 << 62

Floats = NDArray[np.float64]


class Strategy(Protocol):
    """Which page comes next."""

    def born(self, pages: Sequence[int]) -> None:
        """These pages have become known."""

    def take(self) -> int | None:
        """Lease the next page; None if no page waits."""

    def settled(self, plan: Plan) -> None:
        """The plan was posted; the lease of its page, if there was one, has ended."""

    def put_back(self, page: int) -> None:
        """The lease ended without a settlement: the page waits again."""


class Greedy:
    """The page that holds most cash; of the unread, the one that links gave most."""

    def __init__(self, ledger: Ledger, pool: int = UNREAD) -> None:
        self._richest = Richest(ledger.key, ledger.flags, pool)

    def born(self, pages: Sequence[int]) -> None:
        self._richest.offer(pages)

    def take(self) -> int | None:
        return self._richest.take()

    def settled(self, plan: Plan) -> None:
        self._richest.offer(plan.links)
        if plan.extras:
            self._richest.offer([page for page, _ in plan.extras])
        self._richest.release(plan.page)

    def put_back(self, page: int) -> None:
        self._richest.release(page)


class Cycle:
    """One after the other in the order of discovery, round and round.

    Over the unread pages this is breadth-first: ids are given in the order of discovery.
    """

    def __init__(self, ledger: Ledger, pool: int = UNREAD) -> None:
        self._flags = ledger.flags
        self._pool = pool
        self._next = 0
        self._leased: set[int] = set()

    def born(self, pages: Sequence[int]) -> None:
        """They come when the round reaches them."""

    def take(self) -> int | None:
        for start, end in ((self._next, len(self._flags)), (0, self._next)):
            page = self._flags.find(self._pool, start, end)
            while page in self._leased:
                page = self._flags.find(self._pool, page + 1, end)
            if page >= 0:
                self._next = page + 1
                self._leased.add(page)
                return page
        return None

    def settled(self, plan: Plan) -> None:
        self._leased.discard(plan.page)

    def put_back(self, page: int) -> None:
        self._leased.discard(page)


class Lottery:
    """Any page of the pool, with equal chance."""

    def __init__(self, ledger: Ledger, rng: Random, pool: int = UNREAD) -> None:
        self._flags = ledger.flags
        self._rng = rng
        self._pool = pool
        self._waiting = array("I")
        self._is_waiting = bytearray()

    def born(self, pages: Sequence[int]) -> None:
        self._is_waiting.extend(repeat(0, len(pages)))
        for page in pages:
            self._let_wait(page)

    def take(self) -> int | None:
        while self._waiting:
            drawn = self._rng.randrange(len(self._waiting))
            self._waiting[drawn], self._waiting[-1] = self._waiting[-1], self._waiting[drawn]
            page = self._waiting.pop()
            self._is_waiting[page] = 0
            if self._flags[page] & READ == self._pool:
                return page
        return None

    def settled(self, plan: Plan) -> None:
        self._let_wait(plan.page)

    def put_back(self, page: int) -> None:
        self._let_wait(page)

    def _let_wait(self, page: int) -> None:
        if self._flags[page] & READ == self._pool and not self._is_waiting[page]:
            self._is_waiting[page] = 1
            self._waiting.append(page)


class BacklinkCount:
    """The page that most of the pages read so far link to."""

    def __init__(self, ledger: Ledger, pool: int = UNREAD) -> None:
        self._links_to = array("q")
        self._richest = Richest(self._links_to, ledger.flags, pool)

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
    """A page of the site with most pages waiting; inside a site in the order of discovery."""

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
        """A page that was taken does not wait any more."""

    def put_back(self, page: int) -> None:
        site = self._site_of(page)
        self._waiting[site].appendleft(page)
        self._rank(site)

    def _rank(self, site: int) -> None:
        if self._waiting[site]:
            heappush(self._sites, (-len(self._waiting[site]), site))


# ---------------------------------------------------------------- in a web yet unknown


class Oracle:
    """Knows every rank, but must reach the pages by links like every crawler."""

    def __init__(self, crawl: Exploration) -> None:
        self._crawl = crawl
        self._truth = array("q")
        self._richest = Richest(self._truth, crawl.ledger.flags, UNREAD)

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
    """PageRank of all that is known, computed again after every hundredth of the web read."""

    def __init__(self, crawl: Exploration) -> None:
        self._flags = crawl.ledger.flags
        self._options = PageRankOptions(
            damping=1 - crawl.small_edge, dangling=Dangling.VIRTUAL, tolerance=1e-6
        )
        self._every = max(1, crawl.web.graph.nodes // 100)
        self._sources, self._targets = array("q"), array("q")
        self._best: list[int] = []
        self._leased: set[int] = set()
        self._left = 0
        self._rank: Floats | None = None

    def born(self, pages: Sequence[int]) -> None:
        """They wait for the next computation."""

    def take(self) -> int | None:
        if not self._best or not self._left:
            self._recompute()
            self._left = self._every
        if not self._best:
            return None
        self._left -= 1
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
        known = len(self._flags)
        graph = Csr.from_edges(known, np.array(self._sources), np.array(self._targets))
        found = pagerank(graph, options=self._options, start=self._warm(known))
        self._rank = found.values.astype(np.float64)
        unread = np.flatnonzero(np.frombuffer(self._flags, dtype=np.uint8) & READ == UNREAD)
        unread = unread[~np.isin(unread, list(self._leased))]
        best = np.argsort(-self._rank[unread], kind="stable")[: self._every]
        self._best = unread[best][::-1].tolist()

    def _warm(self, known: int) -> Floats:
        """The last ranks, the new pages having the mean of all."""
        before = np.zeros(0) if self._rank is None else self._rank
        after = np.full(known, 1 / known)
        after[: len(before)] = before * (len(before) / known)
        return after


class WithReplays:
    """Greedy, and after each fetch the richest of the read pages spend their cash again."""

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


# ---------------------------------------------------------------- by name

OF_A_KNOWN_WEB: dict[str, Callable[[Ledger, int], Strategy]] = {
    "random": lambda ledger, seed: Lottery(ledger, Random(seed), READ),
    "cycle": lambda ledger, _seed: Cycle(ledger, READ),
    "greedy": lambda ledger, _seed: Greedy(ledger, READ),
}
"""Orders in which all pages of a known web are read again and again."""

OF_AN_UNKNOWN_WEB: dict[str, Callable[[Exploration, int], Strategy]] = {
    "oracle": lambda crawl, _seed: Oracle(crawl),
    "opic": lambda crawl, _seed: Greedy(crawl.ledger),
    "siblings": lambda crawl, _seed: BySiblings(crawl),
    "opic-replay": lambda crawl, _seed: WithReplays(crawl),
    "pagerank": lambda crawl, _seed: RecomputedPageRank(crawl),
    "backlink-count": lambda crawl, _seed: BacklinkCount(crawl.ledger),
    "breadth-first": lambda crawl, _seed: Cycle(crawl.ledger),
    "larger-sites-first": lambda crawl, _seed: LargerSitesFirst(crawl.host_of),
    "random": lambda crawl, seed: Lottery(crawl.ledger, Random(seed)),
}
"""Orders in which the pages of an unknown web are read, each once."""
