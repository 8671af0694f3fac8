"""Errors of windows on a web that changes (figures 4, 5 and 6 of the paper).

lap       as many reads as the web has pages; the paper's month
warm-up   laps before the first change, starting from the fixpoint, until every window is full
cold      A run without a warm-up begins as in the paper: each page holds a unit and has no history.
          Then windows are also measured by how they recover from that.
change    share of the pages whose in-degree is halved or doubled during a lap. The next change of
          the page reverts it, so that the web as a whole stays the same however long it is watched.
births    share of the pages that die during a lap. Each is replaced by a new page with the links of
          the dead one and as many in-links.
policy    a window and its width: in readings for `variable`, in circulations for the others

All policies watch the same run: a window does not influence what is read. After each lap of the
second half the error against the importance in the present web is measured; the mean is reported.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.lab.convergence import edge_of, read, true_importance
from minicrawl.lab.webs import EstimateErrors, Greedy, errors, mean
from minicrawl.opic.estimate import Floats, Importance, shares
from minicrawl.opic.ledger import READ, Ledger, restate
from minicrawl.opic.windows import WINDOWS, Window
from minicrawl.progress import Progress, part

RATES = (0.001, 0.01, 0.03, 0.1, 0.3)
_STEPS = 100
"""Number of bursts of changes per lap, between the reads."""


@dataclass(frozen=True, slots=True)
class WindowPolicy:
    """A window by name, its width, and the most measures that a page keeps."""

    name: str
    width: float
    most: int | None = None

    def __post_init__(self) -> None:
        if self.name == "variable" and self.width != int(self.width):
            raise UsageError(f"the width of variable is a whole number of measures: {self.width}")

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
"""In greedy order a lap is 2.3 circulations: 8 and 4 months of the paper are 19 and 9."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
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
            "error_all": self.errors.all,
            "error_top10": self.errors.top10,
            "error_weighted": self.errors.weighted,
            "rank_error": self.errors.rank,
            "deviation": self.errors.deviation,
            "above_twice": self.errors.above_twice,
            "measures_per_page": self.measures_per_page,
        }


class ChangingWeb:
    """A web whose pages gain and lose in-links, die and are born."""

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
        """Return the present web; dead pages are in it, without links."""
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
    """Duration of an experiment, and the share of pages replaced per lap.

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
) -> list[Point]:
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
        # A pickle: copying so many measures one by one would take longer than the laps.
        found = _at_rate(pickle.loads(warm), graph, rate, watching, tell)
        points += [
            Point(policy=policy, rate=rate, errors=mean(one), measures_per_page=kept)
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
        self._greedy = Greedy(self.ledger, READ)
        born = self.ledger.mint(self.pages, pool=READ)
        if not is_cold:
            restate(self.ledger, shares(true_importance(graph, small_edge)))
        self._greedy.born(born)

    def read(self, count: int) -> None:
        read(self.ledger, self._greedy, self.links, count)

    def discover(self, pages: int) -> None:
        """Make new pages known, up to `pages` in total."""
        if born := pages - len(self.ledger):
            self._greedy.born(self.ledger.mint(born, pool=READ))

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
        for burst in range(lap * _STEPS, (lap + 1) * _STEPS):
            for _ in range(_due(burst, watching.births * graph.nodes / _STEPS)):
                web.replace_any()
            reader.discover(len(web.links))
            for _ in range(_due(burst, rate * graph.nodes / _STEPS)):
                web.change_any()
            reader.read(_due(burst, graph.nodes / _STEPS))
        if 2 * (lap + 1) > watching.laps:
            truth = true_importance(web.graph(), watching.small_edge)
            found.append(reader.errors(truth, web.living))
        progress((lap + 1) / watching.laps)
    kept = [window.measures_per_page() for window in reader.watched]
    return [(list(one), count) for one, count in zip(zip(*found, strict=True), kept, strict=True)]


def _due(burst: int, each: float) -> int:
    """Return how many events fall into this burst, at `each` on average."""
    return int((burst + 1) * each) - int(burst * each)
