"""Experiment: windows follow a web that changes; figures 4, 5 and 6 of the paper.

warm-up   laps before the first change, starting at the fixpoint, until every window is full
cold      a run without a warm-up, which begins as in the paper: each page holds a unit and has no
          history. Then the errors include the recovery from this start.
draw      a web and the changes in it, with a seed of their own
change    share of the pages whose in-degree is halved or doubled during a lap. The next change of
          the page reverts it, so the web as a whole stays similar however long it is watched.
births    share of the pages that die during a lap. Each is replaced by a new page with the links of
          the dead page and as many in-links.
policy    a window and its width: in readings for `variable`, in circulations for the others; or
          its span of time, where a lap takes a month
history   the paper's rule for new pages: until a new page has a history, it counts as having that
          of the pages introduced before it. Windows know of it, cash and order do not.

All policies watch the same run, because a window does not influence what is read. Errors against
the importance in the current web are measured after each lap of the second half, and averaged.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.frontier.page_table import window_of
from minicrawl.graph.csr import Csr
from minicrawl.lab.known_webs import (
    EstimateErrors,
    RichestRead,
    edge_of,
    errors,
    mean,
    read,
    standard_error,
    true_importance,
)
from minicrawl.opic.importance.estimate import Floats, Importance, shares
from minicrawl.opic.ledger.ledger import READ, Ledger, restate
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.adaptive import Adaptive
from minicrawl.opic.windows.measured import Fixed, MeasuredWindow
from minicrawl.opic.windows.window import Window
from minicrawl.ports import Progress, part

RATES = (0.001, 0.01, 0.03, 0.1, 0.3)
WARM_UPS = (0, 40)
"""Laps before the first change: the paper's cold start, and one with full windows, as pages with
few links are read once in five laps."""
_BURSTS = 100
"""Number of bursts of changes per lap, between the reads."""
_MONTH_S = 30 * 86_400
_RECENT = 100
"""Number of new pages whose mean importance is the default history of the next ones."""


@dataclass(frozen=True, slots=True)
class WindowPolicy:
    """Name of a window, its width or span, and the maximum number of measures per page.

    With `default_history`, a new page counts as having the mean history of recent new pages.
    """

    name: str
    width: float | str
    most: int | None = None
    default_history: bool = False

    def __post_init__(self) -> None:
        if self.name == "variable" and float(self.width) % 1:
            raise UsageError(f"a variable window has a whole number of readings, not {self.width}")

    def window(self) -> Window:
        return window_of(self.name, self.width, self.most)

    def __str__(self) -> str:
        history = "+history" if self.default_history else ""
        if self.name == "static":
            return f"{self.name}{history}"
        size = self.width if isinstance(self.width, str) else f"{self.width:g}"
        return f"{self.name} {size}" + (f" in {self.most}" if self.most else "") + history


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


@dataclass(frozen=True, slots=True)
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

    def to_json(self) -> dict[str, object]:
        return {
            "policy": self.policy.name,
            "width": self.policy.width,
            "measures": self.policy.most,
            "default_history": self.policy.default_history,
            "rate": self.rate,
            "warm_up": self.warm_up,
            **self.errors._asdict(),
            "measures_per_page": self.measures_per_page,
            "standard_error": self.standard_error,
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

    def _set_in_degree(self, page: int, degree: int) -> None:
        linking = self._linking[page]
        while len(linking) > degree:
            drawn = self._rng.randrange(len(linking))
            linking[drawn], linking[-1] = linking[-1], linking[drawn]
            self.links[linking.pop()].remove(page)
        if degree <= len(linking):
            return
        linked, pages = {page, *linking}, len(self.living)
        for _ in range(min(degree - len(linking), pages - len(linked))):
            while (source := self.living[self._rng.randrange(pages)]) in linked:
                pass
            linked.add(source)
            linking.append(source)
            self.links[source].append(page)


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
        results = _at_rate(pickle.loads(warm), graph, rate, watching, tell)
        points += [
            WindowPoint(policy, rate, warm_up, mean(errors), measures)
            for policy, (errors, measures) in zip(policies, results, strict=True)
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
            watching = replace(start, seed=start.seed + draw)
            tell = part(progress, done / runs, (done + 1) / runs)
            draws.append(
                windows(graph, policies=policies, rates=rates, watching=watching, progress=tell)
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
        self._spans = [w.span for w in self.watched if isinstance(w, Fixed) and w.span]
        self._reads = 0
        self.ledger = Ledger(windows=self.watched, small_edge=edge_of(small_edge))
        self.ledger.mint(self.pages, pool=READ)
        if not is_cold:
            restate(self.ledger, shares(true_importance(graph, small_edge)))
        self._greedy = RichestRead(self.ledger)

    def read(self, count: int) -> None:
        for _ in range(count):
            self._reads += 1
            at = self._reads * _MONTH_S // self.pages
            for span in self._spans:
                if span.is_due(at):
                    span.note(at, self.ledger.now)
            read(self.ledger, self._greedy, self.links, 1)

    def discover(self, pages: int) -> None:
        """Make new pages known, up to `pages` in total."""
        known = len(self.ledger)
        if pages == known:
            return
        # Before there are new pages, the mean page: a unit flows through it in a circulation.
        recent = (
            slice(max(self.pages, known - _RECENT), known) if known > self.pages else slice(known)
        )
        estimates = (Importance(self.ledger, window) for window in self._presuming)
        flows = [known * shares(estimate.of_all())[recent].mean() for estimate in estimates]
        born = self.ledger.mint(pages - known, pool=READ)
        self._greedy.add(born)
        for window, flow in zip(self._presuming, flows, strict=True):
            window.presume(born, int(flow * UNIT), self.ledger.now, self.ledger.circulation)

    def errors(self, truth: Floats, living: Sequence[int]) -> list[EstimateErrors]:
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
    laps = []
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
            laps.append(reader.errors(truth, web.living))
        progress((lap + 1) / watching.laps)
    return [
        (list(errors), _measures(window))
        for errors, window in zip(zip(*laps, strict=True), reader.watched, strict=True)
    ]


def _measures(window: Window) -> float:
    """Return the mean number of measures of a page: amounts of cash with their times."""
    if isinstance(window, MeasuredWindow):
        return window.measures_per_page()
    return 2.0 if isinstance(window, Adaptive) else 1.0


def _due(burst: int, each: float) -> int:
    """Return the number of events in this burst, at `each` events per burst on average."""
    return int((burst + 1) * each) - int(burst * each)
