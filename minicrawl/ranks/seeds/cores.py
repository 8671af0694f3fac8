"""The core of a community: hubs and the authorities that they link to, grown by scores.

Laws: a core begins with the best authority of all. Hubs and authorities join in turn:

    to Hubs         the page v of best h(v) with v -> w, w in Authorities, v not in Hubs
    to Authorities  the page w of best a(w) with v -> w, v in Hubs, w not in Authorities

Of equals the lower number is the better. A page may be both. When a core is complete, is its rule:

size      |Hubs| + |Authorities| has come to `size`; up to `at_once` of either join in a turn. (The
          paper looks at the size after both sides had their turn, so its cores may be larger.)
density   the cover density, 100 E(Hubs, Authorities) / (|Hubs| |Authorities|), would fall below
          `density`: the page that would bring it there is taken back, and the core is complete.
          (The paper tests it after adding and keeps that page: where it asks for a density of 100
          its cores have 67 to 99.)
maximal   as `density`, but the page is passed over for good, and the next best is tried.

h, a        the scores as hub and as authority.
E(H, A)     how many links lead from pages in H to pages in A.

One core from each community of a graph, the strongest community first.

Law: links inside a host count for nothing. Then, until there are cores enough or no links: HITS on
what is left, a core is grown from its best authority, and the pages of the core are taken away.
So no page is in two cores.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from heapq import heappop, heappush
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.parts import with_links, with_pages
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.hits.hits import textbook
from minicrawl.ranks.scores import Floats

MOST_HUBS = 999
FEWEST_PAGES = 2  # a hub and an authority
ALL_LINKS = 100  # percent


class CoreKind(StrEnum):
    """When a core is complete."""

    SIZE = "size"
    DENSITY = "density"
    MAXIMAL = "maximal"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreRule:
    """When a core is complete, in numbers. A rule of density takes no more than `most_hubs`."""

    kind: CoreKind = CoreKind.MAXIMAL
    size: int = 20
    at_once: int = 1
    density: float = ALL_LINKS
    most_hubs: int = MOST_HUBS

    def __post_init__(self) -> None:
        if self.size < FEWEST_PAGES:
            raise UsageError(f"a core has at least {FEWEST_PAGES} pages, not {self.size}")
        if self.at_once < 1:
            raise UsageError(f"at least 1 page joins at once, not {self.at_once}")
        if not 0 < self.density <= ALL_LINKS:
            raise UsageError(f"a density is above 0 and at most {ALL_LINKS}, not {self.density}")
        if self.most_hubs < 1:
            raise UsageError(f"a core has at least 1 hub, not {self.most_hubs}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedGraph:
    """A graph, followed either way, and what its pages are worth as hubs and as authorities."""

    graph: Csr
    backwards: Csr
    hubs: Floats
    authorities: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """Its pages in the order in which they joined; `links` lead from hubs to authorities.

    The best hub is the one of highest h(v), of equals the first that joined. The best authority
    is the first. `links_left` are all links of the graph that the core was grown in.
    """

    hubs: tuple[int, ...]
    authorities: tuple[int, ...]
    links: int
    links_left: int
    best_hub: int

    @property
    def best_authority(self) -> int:
        return self.authorities[0]

    @property
    def size(self) -> int:
        return len(self.hubs) + len(self.authorities)

    @property
    def density(self) -> float:
        """The cover density, in percent."""
        return ALL_LINKS * self.links / (len(self.hubs) * len(self.authorities))


def grown(ranked: RankedGraph, rule: CoreRule) -> Core:
    """The core around the best authority of a graph that has links."""
    core = _Growing(ranked)
    while not _is_complete(core, rule) and _go_round(core, rule):
        pass
    return Core(
        hubs=tuple(core.hubs.members),
        authorities=tuple(core.authorities.members),
        links=core.links,
        links_left=ranked.graph.edges,
        best_hub=max(core.hubs.members, key=ranked.hubs.__getitem__),
    )


def _is_complete(core: "_Growing", rule: CoreRule) -> bool:
    hubs, authorities = len(core.hubs.members), len(core.authorities.members)
    if rule.kind is CoreKind.SIZE:
        return hubs + authorities >= rule.size
    return hubs >= rule.most_hubs


def _go_round(core: "_Growing", rule: CoreRule) -> bool:
    """Both sides have a turn; whether it may go on."""
    has_grown = False
    for side in (core.hubs, core.authorities):
        answer = _TURNS[rule.kind](core, side, rule)
        if answer is _Answer.REFUSED:
            return False
        has_grown |= answer is _Answer.JOINED
    return has_grown


class _Answer(Enum):
    """What came of it that the best candidate wanted to join."""

    JOINED = auto()
    REFUSED = auto()
    NOBODY = auto()


class _Side:
    """One side of a core, and who may join it for being linked with the other side."""

    def __init__(self, links: Csr, scores: Floats) -> None:
        """`links` lead from pages of this side to pages of the other."""
        self.links = links
        self.members: list[int] = []
        self.is_member = np.zeros(links.nodes, dtype=np.bool_)
        self._scores = scores
        self._was_offered = np.zeros(links.nodes, dtype=np.bool_)
        # Each run is sorted, and the heap holds the best of each: a page costs what it takes to
        # sort it with its like, and only who is taken costs more.
        self._bests: list[tuple[float, int, Iterator[tuple[float, int]]]] = []

    def offer(self, pages: NDArray[np.integer]) -> None:
        """These are linked with the other side; whoever was offered before is no news."""
        news = pages[~self._was_offered[pages]]
        self._was_offered[news] = True
        losses = -self._scores[news]
        order = np.argsort(losses, kind="stable")
        self._push(iter(zip(losses[order].tolist(), news[order].tolist(), strict=True)))

    def take(self) -> int | None:
        """The best of those who were offered and not yet taken."""
        if not self._bests:
            return None
        _, page, run = heappop(self._bests)
        self._push(run)
        return page

    def join(self, page: int) -> None:
        self.members.append(page)
        self.is_member[page] = True

    def _push(self, run: Iterator[tuple[float, int]]) -> None:
        for loss, page in run:
            heappush(self._bests, (loss, page, run))
            break


class _Growing:
    """A core on its way."""

    def __init__(self, ranked: RankedGraph) -> None:
        self.hubs = _Side(ranked.graph, ranked.hubs)
        self.authorities = _Side(ranked.backwards, ranked.authorities)
        self.links = 0
        self.authorities.offer(np.array([np.argmax(ranked.authorities)]))
        self.admit(self.authorities)

    def admit(self, side: _Side, least_density: float = 0.0) -> _Answer:
        """The best candidate joins, unless the density would fall below the least."""
        page = side.take()
        if page is None:
            return _Answer.NOBODY
        other = self.authorities if side is self.hubs else self.hubs
        linked = side.links.targets_of(page)
        links = self.links + int(np.count_nonzero(other.is_member[linked]))
        if ALL_LINKS * links < least_density * (len(side.members) + 1) * len(other.members):
            return _Answer.REFUSED
        self.links = links
        side.join(page)
        other.offer(linked)
        return _Answer.JOINED


def _admit_several(core: _Growing, side: _Side, rule: CoreRule) -> _Answer:
    room = rule.size - len(core.hubs.members) - len(core.authorities.members)
    answers = [core.admit(side) for _ in range(min(rule.at_once, room))]
    return answers[0] if answers else _Answer.REFUSED


def _admit_the_best(core: _Growing, side: _Side, rule: CoreRule) -> _Answer:
    return core.admit(side, rule.density)


def _admit_the_best_that_fits(core: _Growing, side: _Side, rule: CoreRule) -> _Answer:
    while (answer := core.admit(side, rule.density)) is _Answer.REFUSED:
        pass
    return answer


_TURNS: dict[CoreKind, Callable[[_Growing, _Side, CoreRule], _Answer]] = {
    CoreKind.SIZE: _admit_several,
    CoreKind.DENSITY: _admit_the_best,
    CoreKind.MAXIMAL: _admit_the_best_that_fits,
}


ROUNDS = 60
"""Of HITS before each core."""


def extracted(
    graph: Csr,
    count: int,
    rule: CoreRule = CoreRule(),
    *,
    rounds: int = ROUNDS,
    tell: Progress = unreported,
) -> list[Core]:
    """So many cores, or as many as there are, of a graph without the links inside hosts."""
    cores = []
    for core in islice(_all_cores(graph, rule, rounds), count):
        cores.append(core)
        tell(len(cores) / count)
    return cores


def between_hosts(graph: Csr, hosts: NDArray[np.integer]) -> Csr:
    """The graph without the links that stay inside a host."""
    return with_links(graph, hosts[graph.sources()] != hosts[graph.targets])


def _all_cores(graph: Csr, rule: CoreRule, rounds: int) -> Iterator[Core]:
    left = _Left(graph=graph, backwards=graph.reversed(), pages=np.arange(graph.nodes))
    while (left := left.linked()).graph.edges:
        core = grown(left.ranked(rounds), rule)
        yield _renumbered(core, left.pages)
        left = left.without(core)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Left:
    """What is left of a graph; its page i is `pages[i]` of the whole."""

    graph: Csr
    backwards: Csr
    pages: NDArray[np.integer]

    def linked(self) -> "_Left":
        """Without the pages that no link leaves or leads to."""
        return self._with((self.graph.out_degrees() > 0) | (self.backwards.out_degrees() > 0))

    def without(self, core: Core) -> "_Left":
        is_kept = np.ones(len(self.pages), dtype=np.bool_)
        is_kept[[*core.hubs, *core.authorities]] = False
        return self._with(is_kept)

    def ranked(self, rounds: int) -> RankedGraph:
        found = textbook(self.graph, rounds=rounds)
        return RankedGraph(
            graph=self.graph,
            backwards=self.backwards,
            hubs=found.hubs.values,
            authorities=found.authorities.values,
        )

    def _with(self, is_kept: NDArray[np.bool_]) -> "_Left":
        return _Left(
            graph=with_pages(self.graph, is_kept),
            backwards=with_pages(self.backwards, is_kept),
            pages=self.pages[is_kept],
        )


def _renumbered(core: Core, pages: NDArray[np.integer]) -> Core:
    return replace(
        core,
        best_hub=int(pages[core.best_hub]),
        hubs=tuple(pages[list(core.hubs)].tolist()),
        authorities=tuple(pages[list(core.authorities)].tolist()),
    )
