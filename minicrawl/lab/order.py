"""Importance gathered against pages fetched, for every order of reading.

A crawl starts from a few random pages, and knows a page only after it has read a page that links to
it. The result is the share of the true importance, as computed on the whole graph, that lies on the
pages fetched so far.

Draws of seeds differ more than orders do. So two orders are compared draw by draw: a *gain* is the
mean of the differences, with the standard error of the differences. The cost of spam farms is a
difference, too: each order crawls the web with and without them.

A *polite* crawl has several requests under way, but never two to one host: a request goes to the
best page whose host is idle. All requests take equally long, so they end in the order in which they
began, and links of a page are known only when its request ends. With one request at a time this is
the plain order.

parked   A page that was best while its host was busy. It waits again when the host is idle, so that
         cash received meanwhile counts.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.lab.convergence import true_importance
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.webs import Exploration, Numbers, Strategy, Web
from minicrawl.opic.ledger import visit
from minicrawl.opic.money import SMALL_EDGE
from minicrawl.progress import Progress, part

# ================================================================ spam
#
# Spam farms beside the honest pages of a web, to see what an order spends on them.
#
# Law: the importance of honest pages is that of the web without farms, and a page of a farm has
# none. Honest pages keep their numbers and links. Pages of farms are numbered behind them.
#
# host        each page links to all pages of the farm
# random      each page links to 20 pages of the farm, drawn uniformly
# trap        each page links to five pages that nothing else links to, endlessly: there are more
#             pages than any budget can discover
# entrances   A farm is found by links from ten honest pages, guest books for example. These pages
# and
#             their targets in the farm are drawn uniformly. A trap is entered at its first page.
#
# A farm may use several hosts: its pages are dealt out to them in turn. All hosts form one site, or
# each is a site of its own; then they are domains that link to each other.

PAGES = 20_000
ENTRANCES = 10
_LINKS = 20
_BRANCHES = 5

Links = list[Sequence[int]]


class FarmKind(StrEnum):
    """Link structure of a farm."""

    HOST = "host"
    RANDOM = "random"
    TRAP = "trap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Farm:
    """A farm on one or more hosts, which are one site or a site each."""

    kind: FarmKind
    hosts: int = 1
    is_one_site: bool = True
    pages: int = PAGES
    """Number of pages. A trap has as many as a crawl of the honest web could discover."""


def planted(web: Web, links: Links, farm: Farm, rng: Generator) -> tuple[Web, Links]:
    """Return the web with the farm, and its links."""
    first, honest = len(links), web.graph.nodes
    own = _own_links(farm, first, honest, rng)
    found = [*links, *own]
    entered = 1 if farm.kind is FarmKind.TRAP else len(own)
    for page in rng.choice(honest, size=min(ENTRANCES, honest), replace=False).tolist():
        found[page] = [*found[page], first + int(rng.integers(entered))]
    host = np.arange(len(own), dtype=np.int32) % farm.hosts
    site = np.zeros_like(host) if farm.is_one_site else host
    return Web(web.graph, _behind(web.host, host), _behind(web.site, site)), found


def _own_links(farm: Farm, first: int, honest: int, rng: Generator) -> Links:
    """Return the links of the farm's pages, the first of which has the number `first`."""
    match farm.kind:
        case FarmKind.HOST:
            return [range(first, first + farm.pages)] * farm.pages
        case FarmKind.RANDOM:
            ends = rng.integers(first, first + farm.pages, size=(farm.pages, _LINKS))
            return [sorted(set(row)) for row in ends.tolist()]
        case FarmKind.TRAP:
            starts = range(first + 1, first + 1 + _BRANCHES * honest, _BRANCHES)
            branches: Links = [range(start, start + _BRANCHES) for start in starts]
            leaves: Links = [()] * (_BRANCHES * honest + 1 - len(branches))
            return branches + leaves


def _behind(numbers: Numbers, more: Numbers) -> Numbers:
    return np.append(numbers, more + numbers.max(initial=-1) + 1)


# ================================================================ order

Floats = NDArray[np.float64]

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
SEEDS = 10
BASELINE = "opic"
"""Order with which the others are compared."""

_FEWEST_LINKS = 5
"""Least number of links of a page that a person would choose as a seed."""


class DrawnMean(NamedTuple):
    """Mean over the draws at each budget, and its standard error; None with a single draw."""

    mean: list[float]
    error: list[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Importance gathered by an order, at each budget.

    `found.mean[i]` is the importance of the first `fractions[i]` of all pages fetched. `gain` is
    the difference to the baseline from the same seeds, if the baseline ran as well. `spam` is the
    share of spam among the pages fetched, and `loss` the importance lost by it; both are None
    without farms.
    """

    order: str
    fractions: Sequence[float]
    found: DrawnMean
    gain: DrawnMean | None = None
    spam: DrawnMean | None = None
    loss: DrawnMean | None = None

    @property
    def mass(self) -> list[float]:
        return self.found.mean

    def as_json(self) -> dict[str, object]:
        spreads = {"mass": self.found, "gain": self.gain, "spam": self.spam, "loss": self.loss}
        numbers: dict[str, object] = {}
        for name, found in spreads.items():
            numbers |= {name: found and found.mean, f"{name}_error": found and found.error}
        return {"order": self.order, "fractions": list(self.fractions), **numbers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawls:
    """Settings of `draws` crawls, each from newly drawn seeds that share `endowment` units.

    The person who chose the seeds vouches for them: on real webs the endowment is the largest gain.
    In a synthetic web nobody has chosen, and it costs some importance at first. `at_once` requests
    are under way together, one per host; with 1 hosts do not matter. `small_edge` is the share of a
    page's cash that goes to all pages alike.
    """

    draws: int
    seed: int
    endowment: int
    at_once: int = 1
    fractions: Sequence[float] = FRACTIONS
    small_edge: float = SMALL_EDGE


class _Terrain(NamedTuple):
    """A web to crawl, with or without farms: links and importance of all pages."""

    web: Web
    links: Links
    truth: Floats


class _Gathered(NamedTuple):
    """Importance and share of spam of the pages fetched, one row per draw."""

    mass: Floats
    spam: Floats


def order(
    web: Web,
    *,
    orders: Sequence[str],
    crawls: Crawls,
    farms: Sequence[Farm] = (),
    progress: Progress,
) -> list[Curve]:
    """Return the curve of every order, the mean over the crawls."""
    truth = true_importance(web.graph, crawls.small_edge)
    honest = _Terrain(web, list(web.graph.adjacency()), truth)
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
    web, links, truth = honest
    rng = np.random.default_rng(seed)
    for farm in farms:
        web, links = planted(web, links, farm, rng)
    return _Terrain(web, links, np.append(truth, np.zeros(len(links) - len(truth))))


def _curve(
    name: str,
    fractions: Sequence[float],
    found: Sequence[_Gathered],
    base: Sequence[_Gathered] | None,
) -> Curve:
    """Return the curve of the results here and, if there are farms, without them."""
    here, *honest = found
    return Curve(
        order=name,
        fractions=fractions,
        found=spread(here.mass),
        gain=spread(here.mass - base[0].mass) if base else None,
        spam=spread(here.spam) if honest else None,
        loss=spread(honest[0].mass - here.mass) if honest else None,
    )


def _gather(terrain: _Terrain, name: str, crawls: Crawls, progress: Progress) -> _Gathered:
    """Run the crawls, and return their results at each budget."""
    nodes = terrain.web.graph.nodes
    budgets = [int(share * nodes) for share in crawls.fractions]
    masses, spams = [], []
    for draw in range(crawls.draws):
        crawl = Exploration(*terrain, crawls.small_edge)
        crawl.start(draw_seeds(terrain.web, crawls.seed, draw), crawls.endowment)
        strategy = OF_AN_UNKNOWN_WEB[name](crawl, crawls.seed + draw)
        polite = PoliteCrawl(crawl, strategy, crawls.at_once)
        fetched = np.array(polite.fetch(max(budgets)), dtype=np.int64)
        masses.append(_sums(terrain.truth[fetched], budgets))
        spams.append(_sums(fetched >= nodes, budgets) / np.clip(budgets, 1, max(len(fetched), 1)))
        progress((draw + 1) / crawls.draws)
    return _Gathered(np.array(masses), np.array(spams))


def _sums(values: NDArray[Any], budgets: Sequence[int]) -> Floats:
    """Return sums of the first values; a crawl that ran out of pages keeps its last sum."""
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


# ---------------------------------------------------------------- polite orders


class PoliteCrawl:
    """Fetches pages of an unknown web by an order of reading."""

    def __init__(self, crawl: Exploration, strategy: Strategy, at_once: int = 1) -> None:
        self._crawl = crawl
        self._strategy = strategy
        self._at_once = at_once
        self._under_way: deque[int] = deque()
        self._parked: dict[int, list[int]] = {}
        """Parked pages by busy host."""

    def fetch(self, budget: int) -> list[int]:
        """Fetch up to `budget` pages; return them in the order of fetching."""
        self._strategy.born(self._crawl.seeds)
        fetched: list[int] = []
        while len(fetched) < budget:
            self._begin(budget - len(fetched))
            if not self._under_way:
                break
            fetched.append(self._crawl.pages[self._end()])
        return fetched

    def _begin(self, left: int) -> None:
        """Start requests until all places are taken."""
        free = min(self._at_once, left) - len(self._under_way)
        for page in self._best_of_idle_hosts() if free > 0 else ():
            self._under_way.append(page)
            self._parked[self._crawl.host_of(page)] = []
            free -= 1
            if not free:
                break

    def _best_of_idle_hosts(self) -> Iterator[int]:
        while (page := self._strategy.take()) is not None:
            parked = self._parked.get(self._crawl.host_of(page))
            if parked is None:
                yield page
            else:
                parked.append(page)

    def _end(self) -> int:
        """Answer the oldest request, and return its page."""
        page = self._under_way.popleft()
        links, born = self._crawl.links_of(page)
        self._strategy.born(born)
        plan = visit(self._crawl.ledger, page, links)
        self._crawl.ledger.post(plan)
        self._strategy.settled(plan)
        for waiting in self._parked.pop(self._crawl.host_of(page)):
            self._strategy.put_back(waiting)
        return page
