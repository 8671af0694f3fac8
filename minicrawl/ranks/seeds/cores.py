"""Cores of communities: hubs, and the authorities that they link to, one core after another.

A core begins with the best authority of the graph. Hubs and authorities join in turn:

    to Hubs         the page v of best h(v) with v -> w, w in Authorities, v not in Hubs
    to Authorities  the page w of best a(w) with v -> w, v in Hubs, w not in Authorities

Ties go to the lower number. A page may be both. A rule decides when a core is complete:

size      |Hubs| + |Authorities| has reached `size`; up to `at_once` of either join in a turn.
paper     as `size`, but by the paper's procedure: the size is checked after both sides have grown,
          so a core may have up to 2 `at_once` - 1 pages more.
density   the cover density, 100 E(Hubs, Authorities) / (|Hubs| |Authorities|), would fall below
          `density`: the page that would lower it is rejected, and the core is complete. (The
          paper tests after adding and keeps that page: for a limit of 100, its cores have
          densities from 67 to 99.)
maximal   as `density`, but the page is rejected for good, and the next best is tried.

h, a        scores as hub and as authority
E(H, A)     number of links from pages in H to pages in A

Each community gives one core, the strongest community first. Links inside a host are dropped.
Then these steps repeat until there are enough cores or no links are left: HITS runs on the rest
of the graph, a core grows from the best authority, and the pages of the core are removed. So no
page is in two cores.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.subgraphs import with_links, with_pages
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.hits import textbook
from minicrawl.ranks.scores import Floats

MOST_HUBS = 999
ALL_LINKS = 100  # percent


class CoreKind(StrEnum):
    SIZE = "size"
    PAPER = "paper"
    DENSITY = "density"
    MAXIMAL = "maximal"

    @property
    def is_by_size(self) -> bool:
        return self in (CoreKind.SIZE, CoreKind.PAPER)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreRule:
    """Parameters of a rule. The density rules also end at `most_hubs` hubs."""

    kind: CoreKind = CoreKind.MAXIMAL
    size: int = 20
    at_once: int = 1
    density: float = ALL_LINKS
    most_hubs: int = MOST_HUBS


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """Hubs and authorities of a core, in the order of joining; `links` counts links between them.

    The best hub has the highest h(v); ties go to the first that joined. The best authority is the
    first. `links_left` counts all links of the graph that the core grew in.
    """

    hubs: tuple[int, ...]
    authorities: tuple[int, ...]
    links: int
    links_left: int
    best_hub: int

    @property
    def size(self) -> int:
        return len(self.hubs) + len(self.authorities)

    @property
    def density(self) -> float:
        """Cover density in percent."""
        return ALL_LINKS * self.links / (len(self.hubs) * len(self.authorities))


def grown(graph: Csr, backwards: Csr, hubs: Floats, authorities: Floats, rule: CoreRule) -> Core:
    """Return the core around the best authority of the graph, which must have links.

    `backwards` is the reversed graph, `hubs` and `authorities` are the scores of its pages.
    """
    core = _Growing(_Side(graph, hubs), _Side(backwards, authorities), rule)
    while not core.is_complete and core.go_round():
        pass
    return Core(
        hubs=tuple(core.hubs.members),
        authorities=tuple(core.authorities.members),
        links=core.links,
        links_left=graph.edges,
        best_hub=max(core.hubs.members, key=hubs.__getitem__),
    )


class _Answer(Enum):
    JOINED = auto()
    REFUSED = auto()
    NO_CANDIDATE = auto()


class _Side:
    """Hubs or authorities of a core, and candidates that are linked with the other side."""

    def __init__(self, links: Csr, scores: Floats) -> None:
        """Create an empty side; `links` lead from pages of this side to pages of the other."""
        self.links = links
        self.members: list[int] = []
        self.is_member = np.zeros(links.nodes, dtype=np.bool_)
        self.scores = scores
        self._was_offered = np.zeros(links.nodes, dtype=np.bool_)
        # Each `offer` adds a sorted run, and the heap holds the best page of each run: only pages
        # that are taken cost a heap operation.
        self._bests: list[tuple[float, int, Iterator[tuple[float, int]]]] = []

    def offer(self, pages: NDArray[np.integer]) -> None:
        """Add candidates. Pages that were offered before are ignored."""
        news = pages[~self._was_offered[pages]]
        self._was_offered[news] = True
        losses = -self.scores[news]
        order = np.argsort(losses, kind="stable")
        self._push(iter(zip(losses[order].tolist(), news[order].tolist(), strict=True)))

    def take(self) -> int | None:
        """Remove and return the best candidate, or None."""
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
    """A growing core: both sides, and the number of links between them."""

    def __init__(self, hubs: _Side, authorities: _Side, rule: CoreRule) -> None:
        self.hubs, self.authorities = hubs, authorities
        self.links = 0
        self._rule = rule
        self.authorities.offer(np.array([np.argmax(authorities.scores)]))
        self._admit(self.authorities)

    @property
    def size(self) -> int:
        return len(self.hubs.members) + len(self.authorities.members)

    @property
    def is_complete(self) -> bool:
        if self._rule.kind.is_by_size:
            return self.size >= self._rule.size
        return len(self.hubs.members) >= self._rule.most_hubs

    def go_round(self) -> bool:
        """Give both sides a turn; return False if the core is complete."""
        rule, has_grown = self._rule, False
        for side in (self.hubs, self.authorities):
            if rule.kind.is_by_size:
                is_exact = rule.kind is CoreKind.SIZE
                room = min(rule.at_once, rule.size - self.size) if is_exact else rule.at_once
                answer = next(iter([self._admit(side) for _ in range(room)]), _Answer.REFUSED)
            else:
                answer = self._admit(side, rule.density)
                while rule.kind is CoreKind.MAXIMAL and answer is _Answer.REFUSED:
                    answer = self._admit(side, rule.density)
            if answer is _Answer.REFUSED:
                return False
            has_grown |= answer is _Answer.JOINED
        return has_grown

    def _admit(self, side: _Side, least_density: float = 0.0) -> _Answer:
        """Add the best candidate, unless the density would fall below `least_density`."""
        page = side.take()
        if page is None:
            return _Answer.NO_CANDIDATE
        other = self.authorities if side is self.hubs else self.hubs
        linked = side.links.targets_of(page)
        links = self.links + int(np.count_nonzero(other.is_member[linked]))
        if ALL_LINKS * links < least_density * (len(side.members) + 1) * len(other.members):
            return _Answer.REFUSED
        self.links = links
        side.join(page)
        other.offer(linked)
        return _Answer.JOINED


ROUNDS = 60
"""Number of HITS iterations before each core."""


def between_hosts(graph: Csr, hosts: NDArray[np.integer]) -> Csr:
    """Return the graph without the links inside a host."""
    return with_links(graph, hosts[graph.sources()] != hosts[graph.targets])


def extracted(
    graph: Csr,
    count: int,
    rule: CoreRule = CoreRule(),
    *,
    tell: Progress = unreported,
) -> list[Core]:
    """Return up to `count` cores of a graph, whose links inside hosts were dropped."""
    cores = list[Core]()
    backwards, pages = graph.reversed(), np.arange(graph.nodes)  # of the whole graph
    while len(cores) < count and graph.edges:
        is_linked = (graph.out_degrees() > 0) | (backwards.out_degrees() > 0)
        graph, backwards = with_pages(graph, is_linked), with_pages(backwards, is_linked)
        pages = pages[is_linked]
        scores = textbook(graph, rounds=ROUNDS)
        core = grown(graph, backwards, scores.hubs.values, scores.authorities.values, rule)
        cores.append(
            replace(
                core,
                best_hub=int(pages[core.best_hub]),
                hubs=tuple(pages[list(core.hubs)].tolist()),
                authorities=tuple(pages[list(core.authorities)].tolist()),
            )
        )
        is_left = np.ones(len(pages), dtype=np.bool_)
        is_left[[*core.hubs, *core.authorities]] = False
        graph, backwards = with_pages(graph, is_left), with_pages(backwards, is_left)
        pages = pages[is_left]
        tell(len(cores) / count)
    return cores
