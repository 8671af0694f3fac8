"""How the windows follow a web that changes (the paper's figures 4, 5 and 6).

rate     the share of the pages whose in-degree is halved or doubled while as many pages are read
         as there are. The next change of such a page takes it back, so that the web as a whole
         stays what it was however long it is watched.
policy   a window and its width, in turns (windows that look at time) or measures (variable).

All policies watch the same run: a window does not decide what is read. The error is measured at
the end, against the importance in the web as it is then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.lab.convergence import read, true_importance
from minicrawl.lab.measure import EstimateErrors, errors
from minicrawl.lab.strategies import Greedy
from minicrawl.opic.ledger import READ, Ledger
from minicrawl.opic.money import one_more_link
from minicrawl.opic.windows import WINDOWS
from minicrawl.opic.windows.window import Window
from minicrawl.progress import Progress, part

RATES = (0.001, 0.01, 0.03, 0.1, 0.3)
_STEPS = 100
"""Changes come in so many bursts a lap, between the reads."""


@dataclass(frozen=True, slots=True)
class WindowPolicy:
    """A window by its name in the table, and how wide it is."""

    name: str
    width: float

    def __post_init__(self) -> None:
        if self.name == "variable" and self.width != int(self.width):
            raise UsageError(f"the width of variable is a whole number of measures: {self.width}")

    def window(self) -> Window:
        return WINDOWS[self.name](self.width)

    def __str__(self) -> str:
        return self.name if self.name == "static" else f"{self.name} {self.width:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """How wrong a policy was at this rate of change, and what it keeps for that."""

    policy: WindowPolicy
    rate: float
    errors: EstimateErrors
    measures_per_page: float

    def as_json(self) -> dict[str, object]:
        return {
            "policy": self.policy.name,
            "width": self.policy.width,
            "rate": self.rate,
            "error_all": self.errors.all,
            "error_top10": self.errors.top10,
            "error_weighted": self.errors.weighted,
            "rank_error": self.errors.rank,
            "measures_per_page": self.measures_per_page,
        }


class ChangingWeb:
    """A web whose pages gain and lose links to them, one page at a time."""

    def __init__(self, graph: Csr, rng: Random) -> None:
        self.links = graph.adjacency()
        self._linking = graph.reversed().adjacency()
        self._at_first = [len(pages) for pages in self._linking]
        self._rng = rng

    def change(self, page: int) -> None:
        """Halve or double the in-degree of the page, or take its last change back."""
        now, at_first = len(self._linking[page]), self._at_first[page]
        if now != at_first:
            self._set_in_degree(page, at_first)
        else:
            self._set_in_degree(page, self._rng.choice((now - now // 2, 2 * now)))

    def graph(self) -> Csr:
        """The web as it is now."""
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
        """So many random pages that do not link to the page, as far as there are."""
        if count <= 0:
            return []
        known = {page, *self._linking[page]}
        pages = len(self.links)
        found: list[int] = []
        for _ in range(min(count, pages - len(known))):
            while (source := self._rng.randrange(pages)) in known:
                pass
            known.add(source)
            found.append(source)
        return found


def windows(
    graph: Csr,
    *,
    policies: Sequence[WindowPolicy],
    rates: Sequence[float],
    laps: int,
    seed: int,
    progress: Progress,
) -> list[Point]:
    """Every policy at every rate."""
    points = []
    for done, rate in enumerate(rates):
        tell = part(progress, done / len(rates), (done + 1) / len(rates))
        points += _at_rate(graph, policies, rate, laps, seed, tell)
    return points


def _at_rate(
    graph: Csr,
    policies: Sequence[WindowPolicy],
    rate: float,
    laps: int,
    seed: int,
    progress: Progress,
) -> list[Point]:
    rng = Random(seed)
    web = ChangingWeb(graph, rng)
    watching = [policy.window() for policy in policies]
    ledger = Ledger(windows=watching, small_edge=one_more_link)
    greedy = Greedy(ledger, READ)
    greedy.born(ledger.mint(graph.nodes, pool=READ))
    bursts = laps * _STEPS
    for burst in range(bursts):
        for _ in range(_due(burst, rate * graph.nodes / _STEPS)):
            web.change(rng.randrange(graph.nodes))
        read(ledger, greedy, web.links, _due(burst, graph.nodes / _STEPS))
        progress((burst + 1) / bursts)
    truth = true_importance(web.graph())
    cash = ledger.cash_of_all()
    return [
        Point(
            policy=policy,
            rate=rate,
            errors=errors(window.importance(cash, ledger.now, ledger.turn), truth),
            measures_per_page=window.measures_per_page(),
        )
        for policy, window in zip(policies, watching, strict=True)
    ]


def _due(burst: int, each: float) -> int:
    """How many of something fall into this burst if `each` do on average."""
    return int((burst + 1) * each) - int(burst * each)
