"""Which pages a budget is spent on: importance gathered against pages fetched, for every order.

A crawl starts from a few random pages and knows of a page only when it has read a page that links
to it. What is measured is the share of the true importance, that of the whole graph, which the
pages fetched so far hold together.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.synthetic import SyntheticWeb
from minicrawl.lab.convergence import true_importance
from minicrawl.lab.strategies import (
    BacklinkCount,
    Cycle,
    Greedy,
    LargerSitesFirst,
    Lottery,
    Strategy,
)
from minicrawl.opic.ledger import READ, UNREAD, Ledger, Plan
from minicrawl.opic.offline import LinkMatrix
from minicrawl.opic.schedule import Richest
from minicrawl.opic.steps import replay, visit
from minicrawl.progress import Progress

Floats = NDArray[np.float64]

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
SEEDS = 10
SMALL_EDGE = 0.15
REPLAYS = 5
"""Re-spendings a fetch in the order `opic-replay`."""

_FEWEST_LINKS = 5
"""A page that someone would choose as a seed links to that many others."""
_ALL_ATOMS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """`mass[i]` of the importance lies on the first `fractions[i]` of all pages fetched."""

    order: str
    fractions: Sequence[float]
    mass: list[float]

    def as_json(self) -> dict[str, object]:
        return {"order": self.order, "fractions": list(self.fractions), "mass": self.mass}


class Exploration:
    """A crawl of a web that is known to us but not to the crawler.

    `ids` maps the web's pages to the crawler's, given in the order of discovery; -1 is unknown.
    """

    def __init__(self, web: SyntheticWeb, links: list[list[int]], truth: Floats) -> None:
        self.web = web
        self.truth = truth
        self.ledger = Ledger()
        self.pages = array("q")
        self._ids = array("q", [-1]) * web.graph.nodes
        self._links = links

    def start(self, seeds: Sequence[int], endowment: int) -> None:
        """All that is known at first."""
        self.ledger.endow(self.discover(seeds), endowment)

    def discover(self, pages: Sequence[int]) -> range:
        """These pages of the web become known."""
        born = self.ledger.mint(len(pages))
        self.pages.extend(pages)
        for known, page in zip(born, pages, strict=True):
            self._ids[page] = known
        return born

    def links_of(self, known: int) -> tuple[list[int], range]:
        """The links of a page, in the crawler's ids, and which of them were unknown."""
        ids = self._ids
        targets = self._links[self.pages[known]]
        born = self.discover([page for page in targets if ids[page] < 0])
        return [ids[page] for page in targets], born

    def host_of(self, known: int) -> int:
        return int(self.web.host[self.pages[known]])


class Oracle:
    """Knows every rank, but must reach the pages by links like everybody."""

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
        matrix = LinkMatrix(
            nodes=known,
            sources=np.array(self._sources),
            targets=np.array(self._targets),
            small_edge=SMALL_EDGE,
        )
        self._rank = matrix.fixpoint(start=self._warm(known), tolerance=1e-6).importance
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


ORDERS: dict[str, Callable[[Exploration, int], Strategy]] = {
    "oracle": lambda crawl, _seed: Oracle(crawl),
    "opic": lambda crawl, _seed: Greedy(crawl.ledger),
    "opic-replay": lambda crawl, _seed: WithReplays(crawl),
    "pagerank": lambda crawl, _seed: RecomputedPageRank(crawl),
    "backlink-count": lambda crawl, _seed: BacklinkCount(crawl.ledger),
    "breadth-first": lambda crawl, _seed: Cycle(crawl.ledger),
    "larger-sites-first": lambda crawl, _seed: LargerSitesFirst(crawl.host_of),
    "random": lambda crawl, seed: Lottery(crawl.ledger, Random(seed)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawls:
    """`draws` crawls, each from seeds drawn anew that share `endowment` units.

    Whoever chooses seeds vouches for them, and on real webs an endowment is the largest gain of
    all. In a made-up web nobody has chosen, and it costs some of the first importance.
    """

    draws: int
    seed: int
    endowment: int
    fractions: Sequence[float] = FRACTIONS


def order(
    web: SyntheticWeb, *, orders: Sequence[str], crawls: Crawls, progress: Progress
) -> list[Curve]:
    """The curve of every order, the mean over the crawls."""
    truth = true_importance(web.graph, SMALL_EDGE)
    links = web.graph.adjacency()
    budget = int(max(crawls.fractions) * web.graph.nodes)
    curves = []
    for done, name in enumerate(orders):
        masses = []
        for draw in range(crawls.draws):
            crawl = Exploration(web, links, truth)
            crawl.start(draw_seeds(web, crawls.seed, draw), crawls.endowment)
            fetched = _fetch(crawl, ORDERS[name](crawl, crawls.seed + draw), budget)
            masses.append(_mass(truth, fetched, crawls.fractions))
            progress((done + (draw + 1) / crawls.draws) / len(orders))
        mean = np.mean(masses, axis=0).tolist()
        curves.append(Curve(order=name, fractions=crawls.fractions, mass=mean))
    return curves


def draw_seeds(web: SyntheticWeb, seed: int, draw: int) -> list[int]:
    """Random pages with at least 5 links; if there are not enough, those with most links."""
    degrees = web.graph.out_degrees()
    suitable = np.flatnonzero(degrees >= _FEWEST_LINKS)
    if len(suitable) < SEEDS:
        suitable = np.argsort(-degrees, kind="stable")[:SEEDS]
    return Random(seed + draw).sample(suitable.tolist(), min(SEEDS, len(suitable)))


def _fetch(crawl: Exploration, strategy: Strategy, budget: int) -> list[int]:
    """So many pages in the order in which they are fetched, or fewer if no more can be reached."""
    ledger = crawl.ledger
    strategy.born(range(len(ledger)))
    fetched: list[int] = []
    while len(fetched) < budget and (page := strategy.take()) is not None:
        fetched.append(crawl.pages[page])
        links, born = crawl.links_of(page)
        strategy.born(born)
        plan = visit(ledger, page, links)
        ledger.post(plan)
        strategy.settled(plan)
    return fetched


def _mass(truth: Floats, fetched: Sequence[int], fractions: Sequence[float]) -> list[float]:
    """At each budget; a crawl that ran out of pages keeps what it has."""
    gathered = np.concatenate(([0.0], np.cumsum(truth[fetched])))
    last = len(fetched)
    return [float(gathered[min(int(share * len(truth)), last)]) for share in fractions]
