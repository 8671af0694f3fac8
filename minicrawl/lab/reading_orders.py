"""Importance gathered against pages fetched, for every order of reading.

A crawl starts from a few random pages, and knows a page only after it has read a page that links to
it. The result is the share of the importance, computed on the whole graph, that lies on the pages
fetched so far.

The orders of a real crawl come from `crawl.schedule.orders`, with its own queues, so the product
itself is measured. Baselines from the literature are keys for the same queues.

Example: page 0 links to 1 and 2, page 1 to 2, page 2 to 3, and the true importance is .1, .2, .4,
.3. A crawl from page 0 reads it first; its cash of 1 goes in halves to 1 and 2.

    order           reads        importance after 1, 2, 3, 4 pages
    oracle          0, 2, 3, 1   .1  .5  .8  1     the best known page
    breadth-first   0, 1, 2, 3   .1  .3  .7  1
    opic            0, 1, 2, 3   .1  .3  .7  1     1 and 2 hold equal cash: the one found first

With 4 pages, a budget of 50 % is 2 pages: the oracle has gathered .5, the other orders .3.

Draws of seeds differ more than orders do. So two orders are compared draw by draw: a *gain* is the
mean of the differences, with their standard error. The cost of spam farms is a difference, too:
each order crawls the web with and without them.

A *polite* crawl has several requests in flight, at most one per host: the next request is for the
best page of an idle host. All requests take equally long, so they end in the order in which they
began, and links of a page are known only when its request ends. With one request at a time, hosts
do not matter.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from random import Random
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.depth import FARTHEST
from minicrawl.crawl.schedule.orders import (
    ORDERS,
    ByCash,
    ByKey,
    PageOrder,
    PageQueue,
    best_site_first,
    queue_of,
)
from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.lab.freshness import change_rates
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.link_places import ByPlace
from minicrawl.lab.page_values import PageValues
from minicrawl.lab.spam_farms import Farm, Links, planted
from minicrawl.lab.webs import Floats, Web
from minicrawl.model import FULL_VALUE, State
from minicrawl.opic.importance.expected_value import WEIGHT, ValueEstimate
from minicrawl.opic.ledger.ledger import READ, UNREAD, Ledger, Plan
from minicrawl.opic.ledger.money import SMALL_EDGE, fixed_edge
from minicrawl.opic.ledger.plans import replay, visit
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.ports import Progress, part
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank

# ================================================================ exploration


class KnownUrls:
    """URLs, hosts and depths of the known pages, as a frontier has them; sites of all hosts."""

    def __init__(self, web: Web, pages: array[int]) -> None:
        """`pages` maps known pages to pages of the web."""
        self.host_of, self.depth = array("I"), bytearray()
        self._web, self._pages = web, pages
        self._sites = np.zeros(int(web.host.max(initial=0)) + 1, dtype=np.uint32)
        self._sites[web.host] = web.site

    def url_of(self, page: int) -> str:
        return self._web.url_of(self._pages[page])

    def site(self, host: int) -> int:
        return int(self._sites[host])

    def sites(self) -> NDArray[np.uint32]:
        """Return the site of each host."""
        return self._sites


class Exploration:
    """The part of a web that a crawler has discovered; to its queue this is the frontier.

    `truth` is the importance of the web's pages. `links` may have more pages than the web's graph:
    pages of farms come after the others. `pages` maps ids of the crawler, given in the order of
    discovery, to pages of the web; `_ids` is the inverse, with -1 for an unknown page.
    """

    def __init__(
        self,
        web: Web,
        links: Sequence[Sequence[int]],
        truth: Floats,
        small_edge: float = SMALL_EDGE,
    ) -> None:
        self.web = web
        self.truth = truth
        self.small_edge = small_edge
        self.ledger = Ledger(small_edge=fixed_edge(small_edge))
        self.pages = array("q")
        self.urls = KnownUrls(web, self.pages)
        self.siblings: Siblings | None = None
        """Set by `judge_siblings`, for the order that needs it."""
        self.values: ValueEstimate | None = None
        """Set by `judge_values`."""
        self._given: PageValues | None = None
        self._traits = array("I")
        self.seeds = range(0)
        self._ids = array("q", [-1]) * len(links)
        self._links, self._host = links, web.host.tolist()

    def __len__(self) -> int:
        return len(self.pages)

    def in_state(self, *_states: State) -> Iterator[NDArray[np.uint32]]:
        """Yield the unread pages, the only ones that queues ask for."""
        flags = np.frombuffer(self.ledger.flags, dtype=np.uint8)
        yield np.flatnonzero(flags == UNREAD).astype(np.uint32)

    def start(self, seeds: Sequence[int], endowment: int) -> None:
        """Make the seeds known, and endow them."""
        self.seeds = self.discover(seeds)
        self.ledger.endow(self.seeds, endowment)

    def discover(self, pages: Sequence[int], depth: int = 0) -> range:
        """Make these pages of the web known, and return their ids."""
        new = self.ledger.mint(len(pages))
        self.pages.extend(pages)
        self.urls.host_of.extend([self._host[page] for page in pages])
        self.urls.depth.extend(repeat(min(depth, FARTHEST), len(pages)))
        if self._given is not None:
            self._traits.extend([self._given.traits[page] for page in pages])
        for known, page in zip(new, pages, strict=True):
            self._ids[page] = known
        return new

    def links_of(self, known: int) -> tuple[list[int], range]:
        """Return the links of a page as ids, and the ids that are new."""
        ids = self._ids
        targets = self._links[self.pages[known]]
        unknown = [page for page in targets if ids[page] < 0]
        new = self.discover(unknown, self.urls.depth[known] + 1)
        return [ids[page] for page in targets], new

    def judge_siblings(self) -> None:
        """Start to record what siblings lead to: pages of one host that one page made known."""
        shown = Siblings(self.ledger, self.urls.host_of, self.urls)
        shown.introduce(range(len(self)))
        shown.vouch(self.seeds)
        self.siblings = shown

    def judge_values(self, values: PageValues) -> None:
        """Start to record the values of read pages, and what siblings lead to."""
        self.judge_siblings()
        assert self.siblings is not None
        self._given = values
        self._traits.extend([values.traits[page] for page in self.pages])
        self.values = ValueEstimate(self.siblings, self._traits)

    def read(self, page: int) -> tuple[Plan, range]:
        """Read a page: its links become known and get its cash. Return the plan and new pages."""
        links, new = self.links_of(page)
        plan = visit(self.ledger, page, links)
        self.ledger.post(plan)
        if self.siblings is not None:
            self.siblings.end_turn(plan, new)
        if self.values is not None and self._given is not None:
            self.values.learn(round(self._given.value[self.pages[page]] * FULL_VALUE), (plan,))
        return plan, new


def fetched(crawl: Exploration, queue: PageQueue, budget: int, at_once: int = 1) -> list[int]:
    """Fetch up to `budget` pages of the web; return them in the order of fetching."""
    queue.load()
    in_flight, found = deque[int](), list[int]()
    while len(found) < budget:
        while len(in_flight) < min(at_once, budget - len(found)):
            if (page := queue.take()) is None:
                break
            in_flight.append(page)
        if not in_flight:
            break
        page = in_flight.popleft()
        plan, new = crawl.read(page)
        queue.posted((plan,), new)
        queue.resume(crawl.urls.host_of[page])
        found.append(crawl.pages[page])
    return found


# ================================================================ orders
#
# crawl         opic (`crawl --strategy greedy`), siblings, breadth-first, random
# variations    opic-replay: read pages spend their cash again; hash: cash is multiplied by a small
#               random factor
# bandit        the best link place first (`link_places`)
# links         backlink-count; larger-sites-first: the site with most waiting pages
# PageRank      of the known pages, recomputed after each hundredth of the web
# truth         oracle
#
# With `pagerank-return`, an unread page returns most of a gift to the giver. So a page with many
# unread links is not drained by them while nobody knows where they lead.

REPLAYS = 5
"""Number of pages that spend again after each fetch, in the order `opic-replay`."""

TO_SEEDS = 0.05
"""Share of the jumps that go to seeds, in `pagerank-seeds` and `pagerank-return`."""

RETURNED = 0.7
"""Share of a gift that an unread page returns, in `pagerank-return`."""

CHANCE = -0.03
"""Exponent of a page's random number, in the order `hash`."""

_KEY_SCALE = 1 << 62
"""Integer key of a page that holds all importance."""


class ByNumber:
    """Order by a number that a page gets when it is found."""

    def __init__(self, number: Callable[[int], int]) -> None:
        self.keys = array("q")
        self._number = number

    def grow(self, pages: range) -> None:
        self.keys.extend(map(self._number, pages))


class ByBacklinks(ByNumber):
    """Page with most links from the pages read so far first."""

    def __init__(self) -> None:
        super().__init__(lambda _page: 0)

    def count(self, plan: Plan) -> None:
        for page in plan.links:
            self.keys[page] += 1


class ByCashAndChance:
    """Richest page first, with cash multiplied by a small random factor.

    Pages with equal cash, mostly from one template, are thus not all read in a row.
    """

    def __init__(self, ledger: Ledger, rng: Random) -> None:
        self.keys = array("q")
        self._cash, self._rng = ledger.key, rng
        self._factors = array("d")

    def grow(self, pages: range) -> None:
        self._factors.extend((1 - self._rng.random()) ** CHANCE for _ in pages)
        self.keys.extend(map(self._key, pages))

    def count(self, plan: Plan) -> None:
        for page in plan.links:
            self.keys[page] = self._key(page)

    def _key(self, page: int) -> int:
        return int(self._cash[page] * self._factors[page])


class CountingOrder(PageOrder, Protocol):
    """Order whose keys change with each plan."""

    def count(self, plan: Plan) -> None:
        """Raise the keys of the pages that the plan links to."""


class ByCount(ByKey):
    """Queue of an order whose keys change with each plan."""

    def __init__(self, crawl: Exploration, order: CountingOrder) -> None:
        super().__init__(crawl, order)
        self._counted = order

    def posted(
        self, plans: Sequence[Plan], new: Sequence[int] = (), paid: Sequence[int] = ()
    ) -> None:
        super().posted((), new)
        for plan in plans:
            self._counted.count(plan)
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
        found = pagerank(graph, weights, options=self._options, teleport=jumps, start=start)
        self._rank = found.values.astype(np.float64)
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

    return best_site_first(crawl, "breadth-first", waiting)


CRAWL_ORDERS: dict[str, Callable[[Exploration, int], PageQueue]] = {
    "oracle": lambda crawl, _seed: ByKey(
        crawl, ByNumber(lambda page: int(crawl.truth[crawl.pages[page]] * _KEY_SCALE))
    ),
    "opic": lambda crawl, _seed: ORDERS["greedy"](crawl),
    "siblings": lambda crawl, _seed: _by_siblings(crawl),
    "opic-replay": lambda crawl, _seed: ByCashWithReplays(crawl),
    "hash": lambda crawl, seed: ByCount(crawl, ByCashAndChance(crawl.ledger, Random(seed))),
    "pagerank": lambda crawl, _seed: ByRecomputedPageRank(crawl),
    "pagerank-seeds": lambda crawl, _seed: ByRecomputedPageRank(crawl, TO_SEEDS),
    "pagerank-return": lambda crawl, _seed: ByRecomputedPageRank(crawl, TO_SEEDS, RETURNED),
    "bandit": lambda crawl, _seed: ByPlace(crawl),
    "backlink-count": lambda crawl, _seed: ByCount(crawl, ByBacklinks()),
    "breadth-first": lambda crawl, _seed: ORDERS["breadth-first"](crawl),
    "larger-sites-first": lambda crawl, _seed: _larger_sites_first(crawl),
    "random": lambda crawl, _seed: ORDERS["random"](crawl),
}
"""Orders of reading an unknown web, each page once: functions from crawl and seed to a queue."""

BY_VALUE = "value"
"""Name of the additional order for pages with values."""


# ================================================================ curves

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
SEEDS = 10
CRAWL_DAYS = 30
"""Days in which all pages of a web could be fetched."""
BASELINE = "opic"
"""Order that the others are compared with."""

_FEWEST_LINKS = 5
"""Least number of links of a page that a person would choose as a seed."""


class DrawnMean(NamedTuple):
    """Mean over the draws at each budget, and its standard error; None with a single draw."""

    mean: list[float]
    error: list[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Importance gathered by an order, at each budget.

    `found.mean[i]` is the importance gathered once `fractions[i]` of all pages are fetched, or as
    many pages as an integer there says. `fresh` is the part of it on pages that have not changed
    since they were fetched, if pages change as in `lab freshness` and fetching all of them takes 30
    days. `gain` is the difference from the baseline with the same seeds, if the baseline ran as
    well. `value` is the share of the reachable value gathered, if pages have values. `spam` is the
    share of spam among the pages fetched, and `loss` the importance lost by it; both are None
    without farms.
    """

    order: str
    fractions: Sequence[float | int]
    found: DrawnMean
    fresh: DrawnMean | None = None
    value: DrawnMean | None = None
    gain: DrawnMean | None = None
    spam: DrawnMean | None = None
    loss: DrawnMean | None = None

    @property
    def mass(self) -> list[float]:
        return self.found.mean

    def as_json(self) -> dict[str, object]:
        numbers: dict[str, object] = {}
        for name in ("mass", "fresh", "value", "gain", "spam", "loss"):
            found: DrawnMean | None = self.found if name == "mass" else getattr(self, name)
            numbers |= {name: found and found.mean, f"{name}_error": found and found.error}
        return {"order": self.order, "fractions": list(self.fractions), **numbers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawls:
    """Settings of `draws` crawls, each from newly drawn seeds that share `endowment` units.

    An endowment assumes that a person chose the seeds: on real webs, it gains more importance than
    any other rule. Seeds of a synthetic web are random, so there it costs some importance at first.
    `at_once` is the number of requests in flight, one per host; with 1, hosts do not matter.
    `small_edge` is the share of a page's cash that goes to all pages equally.
    """

    draws: int
    seed: int
    endowment: int
    at_once: int = 1
    fractions: Sequence[float | int] = FRACTIONS
    small_edge: float = SMALL_EDGE


class _Terrain(NamedTuple):
    """A web to crawl, with or without farms: links and importance of all pages."""

    web: Web
    links: Links
    truth: Floats
    values: PageValues | None = None


class _Gathered(NamedTuple):
    """Importance, fresh importance, share of spam and value of the pages fetched, by draw."""

    mass: Floats
    fresh: Floats
    spam: Floats
    value: Floats


def order(
    web: Web,
    *,
    orders: Sequence[str],
    crawls: Crawls,
    farms: Sequence[Farm] = (),
    values: PageValues | None = None,
    progress: Progress,
) -> list[Curve]:
    """Return the curve of each order: means over the crawls.

    Without farms, pages may have `values`, and `orders` may contain the order by value.
    """
    truth = true_importance(web.graph, crawls.small_edge)
    honest = _Terrain(web, list(web.graph.adjacency()), truth, values)
    terrains = [_with_farms(honest, farms, crawls.seed), honest] if farms else [honest]
    gathered: list[list[_Gathered]] = []
    for name in orders:
        gathered.append([])
        for terrain in terrains:
            done = len(gathered) - 1 + len(gathered[-1]) / len(terrains)
            tell = part(progress, done / len(orders), (done + 1 / len(terrains)) / len(orders))
            gathered[-1].append(_gather(terrain, name, crawls, tell))
    base = dict(zip(orders, gathered, strict=True)).get(BASELINE)
    return [
        _curve(name, crawls.fractions, found, base if name != BASELINE else None)
        for name, found in zip(orders, gathered, strict=True)
    ]


def _with_farms(honest: _Terrain, farms: Sequence[Farm], seed: int) -> _Terrain:
    web, links, truth, _ = honest
    rng = np.random.default_rng(seed)
    for farm in farms:
        web, links = planted(web, links, farm, rng)
    return _Terrain(web, links, np.append(truth, np.zeros(len(links) - len(truth))))


def _curve(
    name: str,
    fractions: Sequence[float | int],
    found: Sequence[_Gathered],
    base: Sequence[_Gathered] | None,
) -> Curve:
    """Return the curve of an order from its results: with farms and without, or without only."""
    here, *honest = found
    return Curve(
        order=name,
        fractions=fractions,
        found=spread(here.mass),
        fresh=spread(here.fresh),
        value=spread(here.value) if here.value.size else None,
        gain=spread(here.mass - base[0].mass) if base else None,
        spam=spread(here.spam) if honest else None,
        loss=spread(honest[0].mass - here.mass) if honest else None,
    )


def _gather(terrain: _Terrain, name: str, crawls: Crawls, progress: Progress) -> _Gathered:
    """Run the crawls, and return their results at each budget."""
    nodes = terrain.web.graph.nodes
    budgets = [b if isinstance(b, int) else int(b * nodes) for b in crawls.fractions]
    rates = change_rates(len(terrain.links), crawls.seed) * (CRAWL_DAYS / nodes)
    values, masses, fresh, spams, gathered_values = terrain.values, [], [], [], []
    for draw in range(crawls.draws):
        crawl = Exploration(terrain.web, terrain.links, terrain.truth, crawls.small_edge)
        seeds = draw_seeds(terrain.web, crawls.seed, draw)
        crawl.start(seeds, crawls.endowment)
        if values is not None and name == BY_VALUE:
            crawl.judge_values(values)
            queue = queue_of(crawl, "siblings", WEIGHT)
        elif name in CRAWL_ORDERS:
            queue = CRAWL_ORDERS[name](crawl, crawls.seed + draw)
        else:
            queue = queue_of(crawl, name)
        pages = np.array(fetched(crawl, queue, max(budgets), crawls.at_once), dtype=np.int64)
        masses.append(_sums(terrain.truth[pages], budgets))
        fresh.append(still_fresh(terrain.truth[pages], rates[pages], budgets))
        spams.append(_sums(pages >= nodes, budgets) / np.clip(budgets, 1, max(len(pages), 1)))
        if values is not None:
            reachable = values.value[_reachable(terrain.links, seeds)].sum()
            gathered_values.append(_sums(values.value[pages], budgets) / max(reachable, 1e-9))
        progress((draw + 1) / crawls.draws)
    return _Gathered(*map(np.array, (masses, fresh, spams, gathered_values)))


def _reachable(links: Links, seeds: Sequence[int]) -> list[int]:
    """Return the pages to which a path leads from the seeds."""
    found, unread = set(seeds), list(seeds)
    while unread:
        new = [page for page in links[unread.pop()] if page not in found]
        found.update(new)
        unread += new
    return sorted(found)


def still_fresh(importance: Floats, rates: Floats, budgets: Sequence[int]) -> Floats:
    """Return, for each budget, the expected importance of the pages unchanged since their fetch.

    The rates of change are those per fetch, in the order of fetching.
    """
    ages = (np.arange(min(budget, len(rates)), 0, -1) for budget in budgets)
    return np.array([importance[: len(a)] @ np.exp(-rates[: len(a)] * a) for a in ages])


def _sums(values: NDArray[Any], budgets: Sequence[int]) -> Floats:
    """Return the sum of the first values for each budget; beyond the last page, sums stay equal."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    found: Floats = sums[np.minimum(budgets, len(values))]
    return found


def spread(draws: Floats) -> DrawnMean:
    """Return mean and standard error over the rows."""
    count = len(draws)
    error = draws.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else None
    return DrawnMean(draws.mean(axis=0).tolist(), None if error is None else error.tolist())


def draw_seeds(web: Web, seed: int, draw: int) -> list[int]:
    """Draw random pages with at least 5 links; if these are too few, take those with most links."""
    degrees = web.graph.out_degrees()
    suitable = np.flatnonzero(degrees >= _FEWEST_LINKS)
    if len(suitable) < SEEDS:
        suitable = np.argsort(-degrees, kind="stable")[:SEEDS]
    return Random(seed + draw).sample(suitable.tolist(), min(SEEDS, len(suitable)))
