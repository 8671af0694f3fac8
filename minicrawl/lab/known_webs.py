"""Estimates on a fully known web, whose pages are read again and again.

convergence  how fast the estimates approach the true importance (figures 2 and 3 of the paper)
windows      how windows follow a web that changes (figures 4, 5 and 6)

A lap is as many reads as there are pages. Every page has one more link, to the virtual page; or it
gives the virtual page a fixed share of its cash, the small edge.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from random import Random
from typing import NamedTuple, Protocol

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.lab.webs import EstimateErrors, errors, mean
from minicrawl.opic import estimate
from minicrawl.opic.estimate import Floats, Importance, shares
from minicrawl.opic.ledger import READ, Ledger, Plan, replay, restate
from minicrawl.opic.money import UNIT, SmallEdge, fixed_edge, one_more_link
from minicrawl.opic.queues import CandidateHeap
from minicrawl.opic.windows import WINDOWS, Static, Window
from minicrawl.ports import Progress, part
from minicrawl.ranks.pagerank import Dangling, Method, PageRankOptions, pagerank

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
        self._richest.offer(plan.links)
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


def read(ledger: Ledger, order: KnownOrder, links: list[list[int]], count: int) -> None:
    """Read `count` pages of a known web."""
    for _ in range(count):
        page = order.take()
        plan = replay(ledger, page, links[page])
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
    truth: Floats
    small_edge: SmallEdge


def convergence(
    graph: Csr,
    *,
    strategies: Sequence[str],
    laps: int,
    seed: int,
    small_edge: float | None = None,
    progress: Progress,
) -> list[Series]:
    """Return the curves of these strategies and of the off-line algorithm."""
    web = _KnownWeb(graph.adjacency(), true_importance(graph, small_edge), edge_of(small_edge))
    series = [_off_line(graph, laps, web.truth, small_edge)]
    for done, name in enumerate(strategies):
        tell = part(progress, done / len(strategies), (done + 1) / len(strategies))
        series += _reading(name, web, laps, seed, tell)
    return series


def edge_of(share: float | None) -> SmallEdge:
    """Return a small edge of this share; by default, one more link of the page."""
    return one_more_link if share is None else fixed_edge(share)


def true_importance(graph: Csr, small_edge: float | None = None) -> Floats:
    """Return the fixpoint; by default, every page has one more link, to the virtual page."""
    return pagerank(graph, options=_options(small_edge)).values.astype(np.float64)


def _options(small_edge: float | None) -> PageRankOptions:
    return replace(ONE_MORE_LINK, damping=None if small_edge is None else 1 - small_edge)


def _off_line(graph: Csr, laps: int, truth: Floats, small_edge: float | None) -> Series:
    """Run the power method: an iteration moves all importance once, roughly like a lap."""
    options = replace(_options(small_edge), method=Method.POWER, most_iterations=1)
    x, found = np.full(graph.nodes, 1 / graph.nodes), []
    for _ in range(laps):
        x = pagerank(graph, options=options, start=x).values.astype(np.float64)
        found.append(errors(x, truth))
    g = [float(lap) for lap in range(1, laps + 1)]
    return Series(strategy=OFF_LINE, estimator=OFF_LINE, errors=found, g=g, cash_when_read=None)


def _reading(name: str, web: _KnownWeb, laps: int, seed: int, progress: Progress) -> list[Series]:
    """Return the errors of two estimators lap by lap: the paper's, and less the cash of birth."""
    links, truth, small_edge = web
    pages, window = len(links), Static()
    ledger = Ledger(windows=[window], small_edge=small_edge)
    ledger.mint(pages, pool=READ)
    order = KNOWN_WEB_ORDERS[name](ledger, seed)
    paper, minus_birth, g = [], [], []
    for lap in range(laps):
        read(ledger, order, links, pages)
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
# cold      run without a warm-up, which begins as in the paper: each page holds a unit and has no
#           history. Then the errors include the recovery from this start.
# change    share of the pages whose in-degree is halved or doubled during a lap. The next change of
#           the page reverts it, so the web as a whole stays similar however long it is watched.
# births    share of the pages that die during a lap. Each is replaced by a new page with the links
#           of the dead page and as many in-links.
# policy    a window and its width: in readings for `variable`, in circulations for the others
#
# All policies watch the same run, because a window does not influence what is read. Errors against
# the importance in the current web are measured after each lap of the second half, and averaged.

RATES = (0.001, 0.01, 0.03, 0.1, 0.3)
_BURSTS = 100
"""Number of bursts of changes per lap, between the reads."""


@dataclass(frozen=True, slots=True)
class WindowPolicy:
    """Name and width of a window, and the maximum number of measures per page."""

    name: str
    width: float
    most: int | None = None

    def __post_init__(self) -> None:
        if self.name == "variable" and self.width != int(self.width):
            raise UsageError(f"a variable window has a whole number of readings, not {self.width}")

    def window(self) -> Window:
        return WINDOWS[self.name](self.width, self.most)

    def __str__(self) -> str:
        if self.name == "static":
            return self.name
        return f"{self.name} {self.width:g}" + (f" in {self.most}" if self.most else "")


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
    """Error of a policy at a rate of change, and the number of measures it stores."""

    policy: WindowPolicy
    rate: float
    errors: EstimateErrors
    measures_per_page: float

    def as_json(self) -> dict[str, object]:
        return {
            "policy": self.policy.name,
            "width": self.policy.width,
            "measures": self.policy.most,
            "rate": self.rate,
            **self.errors.as_json(),
            "measures_per_page": self.measures_per_page,
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
    reader = _Reader(
        graph, [policy.window() for policy in policies], watching.small_edge, is_cold=not warm_up
    )
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
            WindowPoint(policy=policy, rate=rate, errors=mean(one), measures_per_page=kept)
            for policy, (one, kept) in zip(policies, found, strict=True)
        ]
    return points


class _Reader:
    """Reader of a web in greedy order. It begins at the fixpoint, or cold."""

    def __init__(
        self, graph: Csr, watched: Sequence[Window], small_edge: float | None, *, is_cold: bool
    ) -> None:
        self.pages = graph.nodes
        self.links = graph.adjacency()
        self.watched = watched
        self.ledger = Ledger(windows=watched, small_edge=edge_of(small_edge))
        self.ledger.mint(self.pages, pool=READ)
        if not is_cold:
            restate(self.ledger, shares(true_importance(graph, small_edge)))
        self._greedy = RichestRead(self.ledger)

    def read(self, count: int) -> None:
        read(self.ledger, self._greedy, self.links, count)

    def discover(self, pages: int) -> None:
        """Make new pages known, up to `pages` in total."""
        if born := pages - len(self.ledger):
            self._greedy.add(self.ledger.mint(born, pool=READ))

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
