"""Estimates on a fully known web, whose pages are read again and again.

convergence  how fast the estimates approach the true importance (figures 2 and 3 of the paper)
windows      how windows follow a web that changes (figures 4, 5 and 6)
freshness    the share of a changing web that is up to date, for every order of re-reading

A lap is as many reads as there are pages. Every page has one more link, to the virtual page; or it
gives the virtual page a fixed share of its cash, the small edge.
"""

import json
import pickle
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import cycle, pairwise
from random import Random
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.refresh import RefreshScheduler
from minicrawl.crawl.schedule.worth import worth_of
from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.lab.webs import EstimateErrors, Web, errors, mean, standard_error
from minicrawl.opic.importance import estimate
from minicrawl.opic.importance.estimate import Floats, Importance, shares
from minicrawl.opic.ledger.ledger import READ, Ledger, Plan, restate
from minicrawl.opic.ledger.money import UNIT, SmallEdge, fixed_edge, one_more_link
from minicrawl.opic.ledger.plans import replay, weighted_visit
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.opic.windows.window import Static, Window
from minicrawl.ports import Progress, part
from minicrawl.ranks.pagerank import Dangling, Method, PageRankOptions, pagerank
from minicrawl.store.records import DocumentRow

# ================================================================ orders
#
# `greedy` chooses the read page with the most cash, as replays of a crawl do. The other orders
# ignore cash.


class KnownOrder(Protocol):
    """Order in which the pages of a known web are read again and again."""

    def add(self, pages: Sequence[int]) -> None:
        """Add pages that are new in the web."""

    def take(self) -> int:
        """Return the next page to read."""

    def posted(self, plan: Plan) -> None:
        """Note the plan of the page that was read."""


class RichestRead:
    """Order that takes the read page with the most cash first."""

    def __init__(self, ledger: Ledger) -> None:
        self._richest = CandidateHeap(ledger.key, ledger.flags, READ)
        self._richest.offer(range(len(ledger)))

    def add(self, pages: Sequence[int]) -> None:
        self._richest.offer(pages)

    def take(self) -> int:
        page = self._richest.take()
        assert page is not None, "each page was released when it was read"
        return page

    def posted(self, plan: Plan) -> None:
        self._richest.offer([*plan.links, *(link for link, _ in plan.extras)])
        self._richest.release(plan.page)


class Scheduled:
    """Order that does not depend on cash."""

    def __init__(self, pages: Iterator[int]) -> None:
        self._pages = pages

    def add(self, pages: Sequence[int]) -> None:
        """Do nothing: such orders are not used on webs that grow."""

    def take(self) -> int:
        return next(self._pages)

    def posted(self, plan: Plan) -> None:
        """Do nothing: cash is ignored."""


def at_random(pages: int, seed: int) -> Iterator[int]:
    """Yield random pages, with equal chances."""
    rng = Random(seed)
    while True:
        yield rng.randrange(pages)


KNOWN_WEB_ORDERS: dict[str, Callable[[Ledger, int], KnownOrder]] = {
    "random": lambda ledger, seed: Scheduled(at_random(len(ledger), seed)),
    "cycle": lambda ledger, _seed: Scheduled(cycle(range(len(ledger)))),
    "greedy": lambda ledger, _seed: RichestRead(ledger),
}
"""Orders in which the pages of a known web are read again and again."""


def read(
    ledger: Ledger,
    order: KnownOrder,
    links: list[list[int]],
    count: int,
    weights: list[list[int]] | None = None,
) -> None:
    """Read `count` pages of a known web, whose links share cash alike or by their weights."""
    for _ in range(count):
        page = order.take()
        if weights is None:
            plan = replay(ledger, page, links[page])
        else:
            plan = weighted_visit(ledger, page, links[page], weights[page])
        ledger.post(plan)
        order.posted(plan)


# ================================================================ convergence

OFF_LINE = "off-line"

ONE_MORE_LINK = PageRankOptions(damping=None, dangling=Dangling.VIRTUAL, tolerance=1e-12)
"""Options of the paper: each page has one more link, to the virtual page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A curve: the errors of an estimator after each lap.

    `g` is the number of circulations of all cash. `cash_when_read` is the mean cash of a page at
    its reads, as a multiple of the mean cash of a page.
    """

    strategy: str
    estimator: str
    errors: list[EstimateErrors]
    g: list[float]
    cash_when_read: float | None

    @property
    def label(self) -> str:
        same = self.strategy == self.estimator
        return self.strategy if same else f"{self.strategy}, {self.estimator}"

    def as_json(self) -> dict[str, object]:
        """Return the curve with one list for each kind of error."""
        laps = [lap.as_json() for lap in self.errors]
        return {
            "strategy": self.strategy,
            "estimator": self.estimator,
            "laps": list(range(1, len(laps) + 1)),
            **{name: [lap[name] for lap in laps] for name in laps[0]},
            "g": self.g,
            "cash_when_read": self.cash_when_read,
        }


class _KnownWeb(NamedTuple):
    """A web that is read again and again."""

    links: list[list[int]]
    weights: list[list[int]] | None
    truth: Floats
    small_edge: SmallEdge


def convergence(
    graph: Csr,
    weights: Weights | None = None,
    *,
    strategies: Sequence[str],
    laps: int,
    seed: int,
    small_edge: float | None = None,
    progress: Progress,
) -> list[Series]:
    """Return the curves of these strategies and of the off-line algorithm.

    With weights, a page gives each link its part of a row of any link matrix. The virtual page gets
    as much as the mean link of the page, whatever the row adds up to.
    """
    weights = None if weights is None else _with_means_of_1(graph, weights)
    web = _KnownWeb(
        links=graph.adjacency(),
        weights=None if weights is None else _whole_rows(graph, weights),
        truth=true_importance(graph, small_edge, weights),
        small_edge=edge_of(small_edge),
    )
    series = [_off_line(graph, weights, laps, web.truth, small_edge)]
    for done, name in enumerate(strategies):
        tell = part(progress, done / len(strategies), (done + 1) / len(strategies))
        series += _reading(name, web, laps, seed, tell)
    return series


def edge_of(share: float | None) -> SmallEdge:
    """Return a small edge of this share; by default, one more link of the page."""
    return one_more_link if share is None else fixed_edge(share)


def true_importance(
    graph: Csr, small_edge: float | None = None, weights: Weights | None = None
) -> Floats:
    """Return the fixpoint; by default, every page has one more link, to the virtual page.

    That link has weight 1.
    """
    return pagerank(graph, weights, options=_options(small_edge)).values.astype(np.float64)


def _with_means_of_1(graph: Csr, weights: Weights) -> Weights:
    """Scale the weights so that those of each page are 1 on average, as without weights."""
    counts = graph.out_degrees()
    sources = np.repeat(np.arange(graph.nodes), counts)
    sums = np.bincount(sources, weights, graph.nodes)
    return (weights * (counts[sources] / sums[sources])).astype(np.float32)


def _whole_rows(graph: Csr, weights: Weights) -> list[list[int]]:
    """Return the weights of each page in 2^32ths, as money is exact."""
    whole = np.rint(weights.astype(np.float64) * UNIT).astype(np.int64).tolist()
    return [whole[start:end] for start, end in pairwise(graph.starts.tolist())]


def _options(small_edge: float | None) -> PageRankOptions:
    return replace(ONE_MORE_LINK, damping=None if small_edge is None else 1 - small_edge)


def _off_line(
    graph: Csr, weights: Weights | None, laps: int, truth: Floats, small_edge: float | None
) -> Series:
    """Run the power method: an iteration moves all importance once, roughly like a lap."""
    options = replace(_options(small_edge), method=Method.POWER, most_iterations=1)
    x, found = np.full(graph.nodes, 1 / graph.nodes), []
    for _ in range(laps):
        x = pagerank(graph, weights, options=options, start=x).values.astype(np.float64)
        found.append(errors(x, truth))
    g = [float(lap) for lap in range(1, laps + 1)]
    return Series(strategy=OFF_LINE, estimator=OFF_LINE, errors=found, g=g, cash_when_read=None)


def _reading(name: str, web: _KnownWeb, laps: int, seed: int, progress: Progress) -> list[Series]:
    """Return the errors of two estimators lap by lap: the paper's, and less the cash of birth."""
    links, weights, truth, small_edge = web
    pages, window = len(links), Static()
    ledger = Ledger(windows=[window], small_edge=small_edge)
    ledger.mint(pages, pool=READ)
    order = KNOWN_WEB_ORDERS[name](ledger, seed)
    paper, minus_birth, g = [], [], []
    for lap in range(laps):
        read(ledger, order, links, pages, weights)
        history, cash, recorded = window.history, ledger.cash_of_all(), ledger.recorded / UNIT
        paper.append(errors(estimate.growing(history, cash, recorded, pages), truth))
        minus_birth.append(errors(estimate.minus_birth(history, cash, recorded), truth))
        g.append(recorded / pages)
        progress((lap + 1) / laps)
    return [
        Series(strategy=name, estimator=label, errors=found, g=g, cash_when_read=g[-1] / laps)
        for label, found in (("paper", paper), ("minus-c0", minus_birth))
    ]


# ================================================================ windows
#
# lap       as many reads as the web has pages; the paper's month
# warm-up   laps before the first change, starting at the fixpoint, until every window is full
# cold      a run without a warm-up, which begins as in the paper: each page holds a unit and has no
#           history. Then the errors include the recovery from this start.
# draw      a web and the changes in it, with a seed of their own
# change    share of the pages whose in-degree is halved or doubled during a lap. The next change of
#           the page reverts it, so the web as a whole stays similar however long it is watched.
# births    share of the pages that die during a lap. Each is replaced by a new page with the links
#           of the dead page and as many in-links.
# policy    a window and its width: in readings for `variable`, in circulations for the others
# history   the paper's rule for new pages: until a new page has a history, it counts as having that
#           of the pages introduced before it. Windows know of it, cash and order do not.
#
# All policies watch the same run, because a window does not influence what is read. Errors against
# the importance in the current web are measured after each lap of the second half, and averaged.

RATES = (0.001, 0.01, 0.03, 0.1, 0.3)
WARM_UPS = (0, 40)
"""Laps before the first change: the paper's cold start, and one with full windows, as pages with
few links are read once in five laps."""
_BURSTS = 100
"""Number of bursts of changes per lap, between the reads."""
_RECENT = 100
"""Number of new pages whose mean importance is the default history of the next ones."""


@dataclass(frozen=True, slots=True)
class WindowPolicy:
    """Name and width of a window, and the maximum number of measures per page.

    With `default_history`, a new page counts as having the mean history of recent new pages.
    """

    name: str
    width: float
    most: int | None = None
    default_history: bool = False

    def __post_init__(self) -> None:
        if self.name == "variable" and self.width != int(self.width):
            raise UsageError(f"a variable window has a whole number of readings, not {self.width}")

    def window(self) -> Window:
        return WINDOWS[self.name](self.width, self.most)

    def __str__(self) -> str:
        history = "+history" if self.default_history else ""
        if self.name == "static":
            return f"{self.name}{history}"
        return f"{self.name} {self.width:g}" + (f" in {self.most}" if self.most else "") + history


POLICIES = (
    WindowPolicy("static", 1),
    WindowPolicy("fixed", 19),
    WindowPolicy("improved-fixed", 9),
    WindowPolicy("variable", 4),
    WindowPolicy("variable", 8),
    WindowPolicy("variable", 16),
    WindowPolicy("interpolation", 8),
    WindowPolicy("interpolation", 16),
    WindowPolicy("adaptive", 8),
)
"""Windows to compare. In greedy order a lap, the paper's month, is 2.3 circulations: 8 and 4 months
are 19 and 9 circulations.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPoint:
    """Error of a policy at a rate of change, and the number of measures it stores.

    Means over the draws; `standard_error` is None with a single draw.
    """

    policy: WindowPolicy
    rate: float
    warm_up: int
    errors: EstimateErrors
    measures_per_page: float
    standard_error: EstimateErrors | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "policy": self.policy.name,
            "width": self.policy.width,
            "measures": self.policy.most,
            "default_history": self.policy.default_history,
            "rate": self.rate,
            "warm_up": self.warm_up,
            **self.errors.as_json(),
            "measures_per_page": self.measures_per_page,
            "standard_error": self.standard_error and self.standard_error.as_json(),
        }


class ChangingWeb:
    """A web whose pages gain and lose in-links, and are replaced by new pages."""

    def __init__(self, graph: Csr, rng: Random) -> None:
        self.links = graph.adjacency()
        self.living = list(range(graph.nodes))
        self._linking = graph.reversed().adjacency()
        self._at_first = [len(pages) for pages in self._linking]
        self._rng = rng

    def change(self, page: int) -> None:
        """Halve or double the in-degree of the page, or revert its last change."""
        now, at_first = len(self._linking[page]), self._at_first[page]
        if now != at_first:
            self._set_in_degree(page, at_first)
        else:
            self._set_in_degree(page, self._rng.choice((now - now // 2, 2 * now)))

    def change_any(self) -> None:
        self.change(self.living[self._rng.randrange(len(self.living))])

    def replace_any(self) -> None:
        """Replace a random page by a new one."""
        place = self._rng.randrange(len(self.living))
        dead, born = self.living[place], len(self.links)
        for source in self._linking[dead]:
            self.links[source].remove(dead)
        links, self.links[dead] = self.links[dead], []
        self._linking[dead] = []
        for target in links:
            self._linking[target].remove(dead)
            self._linking[target].append(born)
        self.living[place] = born
        self.links.append(links)
        self._linking.append([])
        self._at_first.append(self._at_first[dead])
        self._set_in_degree(born, self._at_first[born])

    def graph(self) -> Csr:
        """Return the current web, in which dead pages stay without links."""
        sources = np.repeat(np.arange(len(self.links)), [len(links) for links in self.links])
        targets = np.array([page for links in self.links for page in links], dtype=np.int64)
        return Csr.from_edges(len(self.links), sources, targets)

    def _set_in_degree(self, page: int, wanted: int) -> None:
        linking = self._linking[page]
        while len(linking) > wanted:
            drawn = self._rng.randrange(len(linking))
            linking[drawn], linking[-1] = linking[-1], linking[drawn]
            self.links[linking.pop()].remove(page)
        for source in self._strangers(page, wanted - len(linking)):
            linking.append(source)
            self.links[source].append(page)

    def _strangers(self, page: int, count: int) -> list[int]:
        """Return up to `count` random pages that do not link to the page."""
        if count <= 0:
            return []
        known = {page, *self._linking[page]}
        pages = len(self.living)
        found: list[int] = []
        for _ in range(min(count, pages - len(known))):
            while (source := self.living[self._rng.randrange(pages)]) in known:
                pass
            known.add(source)
            found.append(source)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """Duration of an experiment, and `births`, the share of the pages replaced per lap.

    By default the small edge is one more link of the page.
    """

    laps: int
    warm_up: int
    births: float = 0.0
    small_edge: float | None = None
    seed: int = 1


def windows(
    graph: Csr,
    *,
    policies: Sequence[WindowPolicy],
    rates: Sequence[float],
    watching: Watching,
    progress: Progress,
) -> list[WindowPoint]:
    """Measure every policy at every rate. All rates share one warm-up."""
    warm_up, laps = watching.warm_up, watching.laps
    whole = warm_up + laps * len(rates)
    reader = _Reader(graph, policies, watching.small_edge, is_cold=not warm_up)
    tell = part(progress, 0, warm_up / whole)
    for lap in range(warm_up):
        reader.read(reader.pages)
        tell((lap + 1) / warm_up)
    warm = pickle.dumps(reader)
    points = []
    for number, rate in enumerate(rates):
        start = warm_up + number * laps
        tell = part(progress, start / whole, (start + laps) / whole)
        # A pickle, because a deep copy of all measures would take longer than the laps.
        found = _at_rate(pickle.loads(warm), graph, rate, watching, tell)
        points += [
            WindowPoint(
                policy=policy, rate=rate, warm_up=warm_up, errors=mean(one), measures_per_page=kept
            )
            for policy, (one, kept) in zip(policies, found, strict=True)
        ]
    return points


def drawn_windows(
    graphs: Sequence[Csr],
    *,
    policies: Sequence[WindowPolicy],
    rates: Sequence[float],
    starts: Sequence[Watching],
    progress: Progress,
) -> list[WindowPoint]:
    """Return the means over draws, with a graph each, of every policy from every start."""
    points: list[WindowPoint] = []
    runs, done = len(starts) * len(graphs), 0
    for start in starts:
        draws = []
        for draw, graph in enumerate(graphs):
            draws.append(
                windows(
                    graph,
                    policies=policies,
                    rates=rates,
                    watching=replace(start, seed=start.seed + draw),
                    progress=part(progress, done / runs, (done + 1) / runs),
                )
            )
            done += 1
        for same in zip(*draws, strict=True):
            errors_of_draws = [point.errors for point in same]
            points.append(
                replace(
                    same[0],
                    errors=mean(errors_of_draws),
                    measures_per_page=sum(point.measures_per_page for point in same) / len(same),
                    standard_error=standard_error(errors_of_draws) if len(same) > 1 else None,
                )
            )
    return points


class _Reader:
    """Reader of a web in greedy order. It begins at the fixpoint, or cold."""

    def __init__(
        self,
        graph: Csr,
        policies: Sequence[WindowPolicy],
        small_edge: float | None,
        *,
        is_cold: bool,
    ) -> None:
        self.pages = graph.nodes
        self.links = graph.adjacency()
        self.watched = [policy.window() for policy in policies]
        self._presuming = [
            window
            for window, policy in zip(self.watched, policies, strict=True)
            if policy.default_history
        ]
        self.ledger = Ledger(windows=self.watched, small_edge=edge_of(small_edge))
        self.ledger.mint(self.pages, pool=READ)
        if not is_cold:
            restate(self.ledger, shares(true_importance(graph, small_edge)))
        self._greedy = RichestRead(self.ledger)

    def read(self, count: int) -> None:
        read(self.ledger, self._greedy, self.links, count)

    def discover(self, pages: int) -> None:
        """Make new pages known, up to `pages` in total."""
        known = len(self.ledger)
        if pages == known:
            return
        # Before there are new pages, the mean page: a unit flows through it in a circulation.
        recent = (
            slice(max(self.pages, known - _RECENT), known) if known > self.pages else slice(known)
        )
        flows = [known * self._estimate(window)[recent].mean() for window in self._presuming]
        born = self.ledger.mint(pages - known, pool=READ)
        self._greedy.add(born)
        for window, flow in zip(self._presuming, flows, strict=True):
            window.presume(born, int(flow * UNIT), self.ledger.now, self.ledger.circulation)

    def _estimate(self, window: Window) -> Floats:
        return shares(Importance(self.ledger, window).of_all())

    def errors(self, truth: Floats, living: Sequence[int]) -> list[EstimateErrors]:
        """Return the errors of each window on the living pages."""
        return [
            errors(Importance(self.ledger, window).of_all()[living], truth[living])
            for window in self.watched
        ]


def _at_rate(
    reader: _Reader, graph: Csr, rate: float, watching: Watching, progress: Progress
) -> list[tuple[list[EstimateErrors], float]]:
    """Return each policy's errors lap by lap, and its number of measures per page."""
    web = ChangingWeb(graph, Random(watching.seed))
    reader.links = web.links
    found = []
    for lap in range(watching.laps):
        for burst in range(lap * _BURSTS, (lap + 1) * _BURSTS):
            for _ in range(_due(burst, watching.births * graph.nodes / _BURSTS)):
                web.replace_any()
            reader.discover(len(web.links))
            for _ in range(_due(burst, rate * graph.nodes / _BURSTS)):
                web.change_any()
            reader.read(_due(burst, graph.nodes / _BURSTS))
        if 2 * (lap + 1) > watching.laps:
            truth = true_importance(web.graph(), watching.small_edge)
            found.append(reader.errors(truth, web.living))
        progress((lap + 1) / watching.laps)
    kept = [window.measures_per_page() for window in reader.watched]
    return [(list(one), count) for one, count in zip(zip(*found, strict=True), kept, strict=True)]


def _due(burst: int, each: float) -> int:
    """Return the number of events in this burst, at `each` events per burst on average."""
    return int((burst + 1) * each) - int(burst * each)


# ================================================================ freshness
#
# Freshness of a changing web, for every order of re-reading.
#
# Pages change at random moments, each at a rate of its own, and a share of them can be read a day.
# A page is *fresh* from a reading until its next change. Freshness is the share of the importance
# on fresh pages, averaged over the days after the warm-up: the probability that a random surfer
# finds a page as it was last read.
#
# The best possible is that of Y. Azar, E. Horvitz, E. Lubetzky, Y. Peres, D. Shahaf, *Tractable
# near-optimal policies for crawling*, PNAS 2018: if importance w_i and rates of change d_i are
# known, rates r_i of reading at random moments that maximize the sum of w_i r_i / (r_i + d_i).
# Readings at regular intervals keep a page fresh for longer, so an order may exceed this.
#
# The crawl's own scheduler chooses the pages; only the time of day and the servers are simulated.
#
# In `new_links`, the pages with most links are hubs: each change of a hub is a link to a new page.

DAY_S = 86_400.0
_FIRST_DAY = 20_000
_SLOWEST, _FASTEST = 1 / 365, 2.0
"""Range of the rates of change, per day; their logarithms are uniformly distributed."""
_CALM = (1, 10, 100)
"""Divisors of the rates in `nights`."""
_HALVINGS = 200
_HUBS = 0.05
"""Share of the pages that gain links to new pages."""


class SitemapTruth(StrEnum):
    """Statements in the sitemaps of a web."""

    NONE = "none"
    HONEST = "honest"  # the time of each page's first change since it was read
    NEVER = "never"  # no page has changed
    ALWAYS = "always"  # each page has just changed
    HALF = "half"  # half of the hosts say that no page has changed, the others are honest


class ReReading(NamedTuple):
    """An order of re-reading, and the sitemaps that it can use."""

    strategy: str
    sitemap: SitemapTruth = SitemapTruth.NONE


REREADING_ORDERS = (
    ReReading("random"),
    ReReading("breadth-first"),
    *(ReReading("siblings", sitemap) for sitemap in SitemapTruth),
)
SHARES = (0.05, 0.2, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """Duration of an experiment."""

    warm_up: int
    counted: int
    seed: int

    @property
    def total(self) -> int:
        return self.warm_up + self.counted


@dataclass(frozen=True, slots=True)
class FreshPoint:
    """Freshness under an order, when this share of the pages is read a day."""

    order: ReReading
    share: float
    freshness: float
    best: float
    unchanged: float
    """Share of the readings that found no change."""

    def as_json(self) -> dict[str, object]:
        numbers = asdict(self)
        del numbers["order"]
        return self.order._asdict() | numbers


@dataclass(frozen=True, slots=True)
class NightPoint:
    """Requests and misses of a nightly `minicrawl update`, as shares of the pages."""

    sitemap: SitemapTruth
    changing: float
    """Pages that change in a night."""
    asked: float
    unchanged: float
    missed: float
    """Changed pages that were left out."""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class NewLinksPoint:
    """New links that are found when this share of the pages is read a day."""

    counted: bool
    """True if the scheduler is told of new links, as in a crawl."""
    share: float
    found: float
    """Share of the new links that were found by the end."""
    delay_days: float
    """Mean time from a link's appearance until it was found, or until the end."""
    freshness: float
    best: float

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def freshness(
    web: Web, shares: Sequence[float], days: Days, tell: Progress
) -> Iterator[FreshPoint]:
    """Yield the freshness of each order, for each share of the pages read a day."""
    importance, rates = _importance_and_rates(web, days.seed)
    runs = [(share, order) for share in shares for order in REREADING_ORDERS]
    for number, (share, order) in enumerate(runs):
        best = best_possible(importance, rates, share * web.graph.nodes)
        changing = _ChangingWeb(web, importance, rates, order.sitemap, days.seed)
        here = part(tell, number / len(runs), (number + 1) / len(runs))
        fresh, unchanged = changing.read_all_day(order.strategy, share, days, here)
        yield FreshPoint(order, share, fresh, best, unchanged)


def new_links(
    web: Web, shares: Sequence[float], days: Days, tell: Progress
) -> Iterator[NewLinksPoint]:
    """Yield the new links that hubs show, with a reward for them and without."""
    importance, rates = _importance_and_rates(web, days.seed)
    runs = [(share, counted) for share in shares for counted in (False, True)]
    for number, (share, counted) in enumerate(runs):
        best = best_possible(importance, rates, share * web.graph.nodes)
        changing = _ChangingWeb(web, importance, rates, SitemapTruth.NONE, days.seed)
        changing.hubs = HubLinks(web, days, counted=counted)
        here = part(tell, number / len(runs), (number + 1) / len(runs))
        fresh, _ = changing.read_all_day("siblings", share, days, here)
        found, delay = changing.hubs.result(changing.changes_at, rates)
        yield NewLinksPoint(counted, share, found, delay, fresh, best)


def nights(web: Web, days: Days) -> Iterator[NightPoint]:
    """Yield requests and misses of nightly updates, in a lively web and in calmer ones."""
    importance, rates = _importance_and_rates(web, days.seed)
    for calm in _CALM:
        for sitemap in SitemapTruth:
            changing = _ChangingWeb(web, importance, rates / calm, sitemap, days.seed)
            yield changing.update_each_night(days)


def best_possible(importance: Floats, rates: Floats, readings: float) -> float:
    """Return the freshness under the best rates of reading, which add up to `readings` a day."""
    low, high = 0.0, 1.0
    while _readings(importance, rates, high).sum() < readings:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_low = _readings(importance, rates, middle).sum() < readings
        low, high = (middle, high) if is_low else (low, middle)
    found = _readings(importance, rates, high)
    return float((importance * found / (found + rates)).sum())


def _readings(importance: Floats, rates: Floats, scale: float) -> Floats:
    """Return the rates at which one more reading gains equally for every page that is read."""
    return np.maximum(np.sqrt(importance * rates) * scale - rates, 0.0)


def _importance_and_rates(web: Web, seed: int) -> tuple[Floats, Floats]:
    importance = np.asarray(pagerank(web.graph).values, dtype=np.float64)
    return importance / importance.sum(), change_rates(len(importance), seed)


def change_rates(pages: int, seed: int) -> Floats:
    """Return random rates of change, per day."""
    even: Floats = np.random.default_rng(seed).random(pages)
    return _SLOWEST * (_FASTEST / _SLOWEST) ** even


# ---------------------------------------------------------------- the changing web


class HubLinks:
    """New links of the hubs of a changing web, and how late they are found; times are in days."""

    def __init__(self, web: Web, days: Days, *, counted: bool) -> None:
        degrees = web.graph.out_degrees()
        most = np.argsort(-degrees, kind="stable")[: max(1, int(_HUBS * len(degrees)))]
        self._is_hub = np.zeros(len(degrees), dtype=np.bool_)
        self._is_hub[most] = True
        self._rng, self._counted = np.random.default_rng(days.seed + 2), counted
        self._from, self._end = (float(_FIRST_DAY + day) for day in (days.warm_up, days.total))
        self._found, self._delays = 0, list[float]()

    def read(self, page: int, first: float, rate: float, now: float) -> int:
        """Return the number of new links that a reading finds, and note their delays.

        The first one appeared at `first`; others followed at this rate until `now`.
        """
        if not self._is_hub[page] or first > now:
            return 0
        later = first + (now - first) * self._rng.random(self._rng.poisson(rate * (now - first)))
        counted = [now - at for at in (first, *later) if at >= self._from]
        self._delays += counted
        self._found += len(counted)
        return (1 + len(later)) if self._counted else 0

    def result(self, changes_at: Floats, rates: Floats) -> tuple[float, float]:
        """Return the share of the new links that were found, and their mean delay.

        Links that nobody has found are late until the end.
        """
        found = self._found
        for page in np.flatnonzero(self._is_hub).tolist():
            self.read(page, float(changes_at[page]), float(rates[page]), self._end)
        return found / max(self._found, 1), float(np.mean(self._delays or [0.0]))


class _ChangingWeb:
    """Changing pages, read by the scheduler of a crawl; times are in days."""

    def __init__(
        self, web: Web, importance: Floats, rates: Floats, sitemap: SitemapTruth, seed: int
    ) -> None:
        self._web, self._importance, self._rates = web, importance, rates
        self._rng = np.random.default_rng(seed + 1)
        self._hosts = array("I", web.host.tolist())
        self._pages = {str(page): page for page in range(web.graph.nodes)}
        self._sitemap, self._is_lying = sitemap, web.host % 2 > 0
        self._now, self._records = float(_FIRST_DAY), None
        self._documents = [_document(page, self._now * DAY_S) for page in self._pages.values()]
        self._read_at = np.full(len(self._pages), self._now)
        self.hubs: HubLinks | None = None
        self.changes_at = self._now + self._rng.exponential(1 / rates)
        """Time of each page's first change after its last reading."""

    def read_all_day(
        self, strategy: str, share: float, days: Days, tell: Progress
    ) -> tuple[float, float]:
        """Read this share of the pages a day, at regular intervals.

        Return the freshness, and the share of the readings that found no change.
        """
        refresh = self._scheduler(strategy, endless=True)
        until, fresh, readings, unchanged = days.total, 0.0, 0, 0
        counted_from = _FIRST_DAY + days.warm_up
        for day in range(until):
            self._hear(refresh)
            most = int((day + 1) * share * len(self._pages)) - int(day * share * len(self._pages))
            for number in range(1, most + 1):
                self._now = _FIRST_DAY + day + number / most
                page = _next_of(refresh)
                assert page is not None, "pages wait again as soon as they are read"
                fresh += self._fresh_days(page, counted_from)
                readings += day >= days.warm_up
                unchanged += not self._read(page, refresh) and day >= days.warm_up
                links = self._web.graph.targets_of(page).tolist()
                refresh.posted([Plan(page, 0, links, 0, (), 0)])
                refresh.release(page)
            self._now = float(_FIRST_DAY + day + 1)
            tell((day + 1) / until)
        fresh += sum(self._fresh_days(page, counted_from) for page in self._pages.values())
        return fresh / days.counted, unchanged / max(readings, 1)

    def update_each_night(self, days: Days) -> NightPoint:
        """Read each page once a night, except pages left out because of a trusted sitemap."""
        asked = unchanged = missed = 0
        for night in range(days.total):
            self._now = float(_FIRST_DAY + night + 1)
            refresh = self._scheduler("siblings", endless=False)  # each update is a new process
            self._hear(refresh)
            while (page := _next_of(refresh)) is not None:
                is_same = not self._read(page, refresh)
                if night >= days.warm_up:
                    asked += 1
                    unchanged += is_same
            self._records = json.loads(json.dumps(refresh.sitemap_records.kept()))
            if night >= days.warm_up:
                missed += int((self.changes_at <= self._now).sum())
        all_pages = days.counted * len(self._pages)
        shares = (number / all_pages for number in (asked, unchanged, missed))
        changing = float(-np.expm1(-self._rates).mean())
        return NightPoint(self._sitemap, changing, *shares)

    def _scheduler(self, strategy: str, *, endless: bool) -> RefreshScheduler:
        refresh = RefreshScheduler(
            self._hosts, worth_of(strategy), self._cash, self._today, endless=endless
        )
        for document in self._documents:
            refresh.saw(document)
        refresh.sitemap_records.restore(self._records)
        return refresh

    def _today(self) -> float:
        return self._now * DAY_S

    def _cash(self, pages: NDArray[np.uint32]) -> Floats:
        """Return the cash that links have paid to the pages since they were read.

        One unit a page circulates each day.
        """
        cash = self._importance[pages] * (self._now - self._read_at[pages])
        return cash * len(self._importance)

    def _fresh_days(self, page: int, counted_from: float) -> float:
        """Return the fresh days of a page since its last reading, weighted by importance."""
        until = min(self._now, self.changes_at[page])
        fresh = max(until - max(self._read_at[page], counted_from), 0.0)
        return float(self._importance[page] * fresh)

    def _read(self, page: int, refresh: RefreshScheduler) -> bool:
        """Read a page, and return whether it has changed."""
        changed = bool(self.changes_at[page] <= self._now)
        before = self._documents[page]
        new_links = 0
        if self.hubs is not None:
            first, rate = float(self.changes_at[page]), float(self._rates[page])
            new_links = self.hubs.read(page, first, rate, self._now)
        self._documents[page] = before._replace(
            last_at=self._today(), changes=before.changes + changed, checks=before.checks + 1
        )
        self._read_at[page] = self._now
        self.changes_at[page] = self._now + self._rng.exponential(1 / self._rates[page])
        refresh.saw(self._documents[page], just_now=True)
        refresh.found(page, new_links)
        return changed

    def _hear(self, refresh: RefreshScheduler) -> None:
        """Read the sitemaps of all hosts."""
        if self._sitemap is SitemapTruth.NONE:
            return
        long_ago = self._read_at - 1
        honest = np.where(self.changes_at <= self._now, self.changes_at, long_ago)
        stated = {
            SitemapTruth.HONEST: honest,
            SitemapTruth.NEVER: long_ago,
            SitemapTruth.ALWAYS: np.full(len(honest), self._now),
            SitemapTruth.HALF: np.where(self._is_lying, long_ago, honest),
        }[self._sitemap]
        refresh.hear(self._pages, tuple(zip(self._pages, (stated * DAY_S).tolist(), strict=True)))


def _next_of(refresh: RefreshScheduler) -> int | None:
    host = refresh.next_host(lambda _: True)
    page = None if host is None else refresh.take_of(host)
    if host is not None:
        refresh.look_again(host)
    return page


def _document(page: int, at: float) -> DocumentRow:
    return DocumentRow(page, "", 200, None, None, 0, False, at, at, 0, 0)
