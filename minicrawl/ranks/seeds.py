"""Seeds for a crawl, one from each community of a graph (Daneshpajouh, Nasiri, Ghodsi, 2008).

cores       hubs of a community and the authorities they link to, one core after another
evaluation  distances between cores, and how fast crawls from seeds gather importance
succession  seeds of an old graph, looked up in a newer one
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from heapq import heappop, heappush
from itertools import islice, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr, NamedGraph, NodeHosts, with_links, with_pages
from minicrawl.graph.distances import Nodes, fronts, levels, linked_from
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.hits import textbook
from minicrawl.ranks.scores import Floats

# ================================================================ cores
#
# The core of a community has hubs and the authorities that they link to. It begins with the best
# authority of the graph. Hubs and authorities join in turn:
#
#     to Hubs         the page v of best h(v) with v -> w, w in Authorities, v not in Hubs
#     to Authorities  the page w of best a(w) with v -> w, v in Hubs, w not in Authorities
#
# Ties go to the lower number. A page may be both. A rule decides when a core is complete:
#
# size      |Hubs| + |Authorities| has reached `size`; up to `at_once` of either join in a turn.
#           (The paper checks the size after both sides have grown, so its cores may be larger.)
# density   the cover density, 100 E(Hubs, Authorities) / (|Hubs| |Authorities|), would fall below
#           `density`: the page that would lower it is rejected, and the core is complete. (The
#           paper tests after adding and keeps that page: for a limit of 100, its cores have
#           densities from 67 to 99.)
# maximal   as `density`, but the page is rejected for good, and the next best is tried.
#
# h, a        scores as hub and as authority
# E(H, A)     number of links from pages in H to pages in A
#
# Each community gives one core, the strongest community first. Links inside a host are dropped.
# Then these steps repeat until there are enough cores or no links are left: HITS runs on the rest
# of the graph, a core grows from the best authority, and the pages of the core are removed. So no
# page is in two cores.

MOST_HUBS = 999
FEWEST_PAGES = 2  # a hub and an authority
ALL_LINKS = 100  # percent


class CoreKind(StrEnum):
    """Rule that decides when a core is complete."""

    SIZE = "size"
    DENSITY = "density"
    MAXIMAL = "maximal"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreRule:
    """Parameters of a rule. The density rules also end at `most_hubs` hubs."""

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
    """A graph, its reverse, and the scores of its pages as hubs and as authorities."""

    graph: Csr
    backwards: Csr
    hubs: Floats
    authorities: Floats


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
    def best_authority(self) -> int:
        return self.authorities[0]

    @property
    def size(self) -> int:
        return len(self.hubs) + len(self.authorities)

    @property
    def density(self) -> float:
        """Cover density in percent."""
        return ALL_LINKS * self.links / (len(self.hubs) * len(self.authorities))


def grown(ranked: RankedGraph, rule: CoreRule) -> Core:
    """Return the core around the best authority of the graph, which must have links."""
    core = _Growing(ranked, rule)
    while not core.is_complete and core.go_round():
        pass
    return Core(
        hubs=tuple(core.hubs.members),
        authorities=tuple(core.authorities.members),
        links=core.links,
        links_left=ranked.graph.edges,
        best_hub=max(core.hubs.members, key=ranked.hubs.__getitem__),
    )


class _Answer(Enum):
    """Result of an attempt to add a page."""

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
        self._scores = scores
        self._was_offered = np.zeros(links.nodes, dtype=np.bool_)
        # Each `offer` adds a sorted run, and the heap holds the best page of each run: only pages
        # that are taken cost a heap operation.
        self._bests: list[tuple[float, int, Iterator[tuple[float, int]]]] = []

    def offer(self, pages: NDArray[np.integer]) -> None:
        """Add candidates. Pages that were offered before are ignored."""
        news = pages[~self._was_offered[pages]]
        self._was_offered[news] = True
        losses = -self._scores[news]
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

    def __init__(self, ranked: RankedGraph, rule: CoreRule) -> None:
        self.hubs = _Side(ranked.graph, ranked.hubs)
        self.authorities = _Side(ranked.backwards, ranked.authorities)
        self.links = 0
        self._rule = rule
        self.authorities.offer(np.array([np.argmax(ranked.authorities)]))
        self._admit(self.authorities)

    @property
    def size(self) -> int:
        return len(self.hubs.members) + len(self.authorities.members)

    @property
    def is_complete(self) -> bool:
        if self._rule.kind is CoreKind.SIZE:
            return self.size >= self._rule.size
        return len(self.hubs.members) >= self._rule.most_hubs

    def go_round(self) -> bool:
        """Give both sides a turn; return False if the core is complete."""
        has_grown = False
        for side in (self.hubs, self.authorities):
            answer = self._take_turn(side)
            if answer is _Answer.REFUSED:
                return False
            has_grown |= answer is _Answer.JOINED
        return has_grown

    def _take_turn(self, side: _Side) -> _Answer:
        rule = self._rule
        if rule.kind is CoreKind.SIZE:
            answers = [self._admit(side) for _ in range(min(rule.at_once, rule.size - self.size))]
            return answers[0] if answers else _Answer.REFUSED
        answer = self._admit(side, rule.density)
        while rule.kind is CoreKind.MAXIMAL and answer is _Answer.REFUSED:
            answer = self._admit(side, rule.density)
        return answer

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
"""Default number of HITS iterations before each core."""


def extracted(
    graph: Csr,
    count: int,
    rule: CoreRule = CoreRule(),
    *,
    rounds: int = ROUNDS,
    tell: Progress = unreported,
) -> list[Core]:
    """Return up to `count` cores of a graph, whose links inside hosts were dropped."""
    cores = []
    for core in islice(_all_cores(graph, rule, rounds), count):
        cores.append(core)
        tell(len(cores) / count)
    return cores


def between_hosts(graph: Csr, hosts: NDArray[np.integer]) -> Csr:
    """Return the graph without the links inside a host."""
    return with_links(graph, hosts[graph.sources()] != hosts[graph.targets])


def _all_cores(graph: Csr, rule: CoreRule, rounds: int) -> Iterator[Core]:
    left = _Left(graph=graph, backwards=graph.reversed(), pages=np.arange(graph.nodes))
    while (left := left.linked()).graph.edges:
        core = grown(left.ranked(rounds), rule)
        yield _renumbered(core, left.pages)
        left = left.without(core)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Left:
    """Rest of a graph; page i of the rest is page `pages[i]` of the whole graph."""

    graph: Csr
    backwards: Csr
    pages: NDArray[np.integer]

    def linked(self) -> "_Left":
        """Return the rest without pages that have no links."""
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


# ================================================================ evaluation
#
# Seeds are judged by the distances between their cores, and by how fast crawls gather importance.
#
# A crawl is breadth-first along all links, so a page's depth is its distance from the nearest seed.
# Over several crawls, a depth has the mean number of pages, and the mean importance of all pages
# that the crawls read there. Equal depths of two crawls are not comparable: the crawl that is wider
# at a depth has also read more unimportant pages. So crawls are compared after equal numbers of
# pages, too; a crawl that has ended keeps what it gathered. The distance from one core to another
# is the length of the shortest path in this direction; pairs without a path are left out.


class DepthCoverage(NamedTuple):
    """Mean number of pages that crawls read at one depth, and their importance."""

    pages: float = 0.0
    importance: float | None = None
    """Mean importance of the pages, None without pages."""


class Depth(NamedTuple):
    """Coverage of one depth by the crawl from the seeds, and by crawls from random pages."""

    seeds: DepthCoverage
    random: DepthCoverage


class EqualPages(NamedTuple):
    """Shares of all importance that crawls have gathered after the same number of pages."""

    pages: int
    seeds: float
    random: float
    random_error: float | None
    """Standard error of `random`; None with a single draw."""


class CrawlComparison(NamedTuple):
    """A crawl from the seeds, and crawls from as many random pages."""

    depths: list[Depth]
    after: list[EqualPages]


def between_cores(
    graph: Csr, cores: Sequence[Core], tell: Progress = unreported
) -> NDArray[np.int32]:
    """Return the shortest distances [i, j] from any page of core i to any page of core j."""
    pages = [[*core.hubs, *core.authorities] for core in cores]
    rows = []
    for sources in pages:
        rows.append(_nearest(levels(graph, sources), pages))
        tell(len(rows) / len(pages))
    return np.array(rows, dtype=np.int32).reshape(len(pages), len(pages))


class CoreDistances(NamedTuple):
    """Summary of the distances between cores."""

    smallest: int
    mean: float
    largest: int


def summary_of(distances: NDArray[np.int32]) -> CoreDistances | None:
    """Summarise the result of `between_cores`; None if no core reaches another."""
    found = distances[distances > 0]
    if not found.size:
        return None
    return CoreDistances(int(found.min()), float(found.mean()), int(found.max()))


class DegreeCounts(NamedTuple):
    """Degrees above 0 that occur, and the number of pages with each."""

    degrees: NDArray[np.intp]
    pages: NDArray[np.intp]


def distribution(degrees: NDArray[np.integer]) -> DegreeCounts:
    """Return the distribution of degrees, without 0: 0 has no place on a logarithmic axis."""
    pages = np.bincount(degrees)
    found = np.flatnonzero(pages)
    found = found[found > 0]
    return DegreeCounts(found, pages[found])


def compared(
    graph: Csr,
    importance: Floats,
    seeds: Nodes,
    rng: Generator,
    *,
    draws: int,
    tell: Progress = unreported,
) -> CrawlComparison:
    """Compare a crawl from the seeds with `draws` crawls from random pages."""
    marks = _marks(len(seeds), graph.nodes)
    crawls = [_crawl(graph, importance, seeds, marks)]
    for _ in range(draws):
        tell(len(crawls) / (draws + 1))
        drawn = rng.choice(graph.nodes, size=len(seeds), replace=False)
        crawls.append(_crawl(graph, importance, drawn, marks))
    tell(1.0)
    by_depth = zip_longest(*(crawl.depths for crawl in crawls), fillvalue=_Sum(0, 0.0))
    depths = [Depth(_mean(sums[:1]), _mean(sums[1:])) for sums in by_depth]
    return CrawlComparison(depths, _after(marks, crawls))


class _Sum(NamedTuple):
    """Number and total importance of the pages that one crawl read at one depth."""

    pages: int
    importance: float


class _Crawl(NamedTuple):
    """One crawl: its depths, and the importance gathered at each mark."""

    depths: list[_Sum]
    gathered: Floats
    pages: int


def _nearest(level: NDArray[np.int32], cores: Sequence[Sequence[int]]) -> list[int]:
    # As unsigned numbers, UNREACHED is farther than any distance.
    return [int(level[core].view(np.uint32).min().view(np.int32)) for core in cores]


def _marks(first: int, last: int) -> NDArray[np.int64]:
    """Return the page counts to compare at: 1, 2, 5, 10, ... above `first`, and `last`."""
    steps = [count * 10**power for power in range(len(str(last))) for count in (1, 2, 5)]
    return np.array([count for count in steps if first < count < last] + [last] * (last > 0))


def _crawl(graph: Csr, importance: Floats, seeds: Nodes, marks: NDArray[np.int64]) -> _Crawl:
    read = list(fronts(graph, seeds))
    sums = [_Sum(len(pages), float(importance[pages].sum())) for pages in read]
    in_order = importance[np.concatenate(read)] if read else np.zeros(0)
    so_far = np.concatenate(([0.0], np.cumsum(in_order)))
    return _Crawl(sums, so_far[np.minimum(marks, len(in_order))], len(in_order))


def _after(marks: NDArray[np.int64], crawls: Sequence[_Crawl]) -> list[EqualPages]:
    """Return the comparisons at all marks, up to the end of the longest crawl."""
    first, *others = crawls
    most = max((crawl.pages for crawl in crawls), default=0)
    shown = int(np.searchsorted(marks, most)) + 1
    random = np.array([crawl.gathered for crawl in others])
    errors = random.std(axis=0, ddof=1) / len(random) ** 0.5 if len(random) > 1 else None
    return [
        EqualPages(
            pages=int(min(marks[place], most)),
            seeds=float(first.gathered[place]),
            random=float(random[:, place].mean()),
            random_error=None if errors is None else float(errors[place]),
        )
        for place in range(min(shown, len(marks)))
    ]


def _mean(sums: Sequence[_Sum]) -> DepthCoverage:
    pages = sum(one.pages for one in sums)
    if not pages:
        return DepthCoverage()
    return DepthCoverage(pages / len(sums), sum(one.importance for one in sums) / pages)


# ================================================================ succession
#
# Seeds of an old graph are looked up in a newer one. Vanished seeds may be replaced.
#
# A seed still exists if the newer graph has a node of its name. Otherwise a similar page replaces
# it: the page of its host that shares the most links with it, at least one. Links of the seed in
# the old graph are compared with links of the page in the newer one, in and out, with ends matched
# by name. Ties go to the page with the fewest other links, then to the first of the graph. No page
# replaces two seeds, and no seed replaces another.


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedReplacement:
    """A seed and its node in the newer graph: itself, a similar page, or None."""

    seed: str
    node: int | None
    shared_links: int | None = None
    """Number of shared links, if another page replaces the seed."""


def still_there(old: NamedGraph, new: NamedGraph, seeds: Sequence[int]) -> list[SeedReplacement]:
    """Look up the seeds in the newer graph by name."""
    names = old.names.of(seeds)
    found = new.names.find(names)
    return [SeedReplacement(seed=name, node=node) for name, node in zip(names, found, strict=True)]


def most_similar(old: NamedGraph, new: NamedGraph, seeds: Sequence[int]) -> list[SeedReplacement]:
    """Look up the seeds by name; similar pages replace vanished seeds."""
    found = still_there(old, new, seeds)
    taken = [one.node for one in found if one.node is not None]
    if not (vanished := [place for place, one in enumerate(found) if one.node is None]):
        return found
    similarity = _Similarity(old, new, [seeds[place] for place in vanished])
    for place in vanished:
        if best := similarity.best(seeds[place], taken):
            node, shared_links = best
            found[place] = replace(found[place], node=node, shared_links=shared_links)
            taken.append(node)
    return found


class _Similarity:
    """Similarity of nodes of a newer graph to some nodes of an old graph."""

    def __init__(self, old: NamedGraph, new: NamedGraph, nodes: Sequence[int]) -> None:
        self._links, self._backlinks = old.graph, old.graph.reversed()
        self._new_links, self._new_backlinks = new.graph, new.graph.reversed()
        self._degrees = new.graph.out_degrees() + new.graph.in_degrees()
        self._hosts, self._new_hosts = old.names.hosts(), new.names.hosts()
        ends = [self._links.targets_of(node) for node in nodes]
        ends += [self._backlinks.targets_of(node) for node in nodes]
        self._new_node = _in_the_new(old, new, np.unique(np.concatenate(ends)))

    def best(self, node: int, taken: Sequence[int]) -> tuple[int, int] | None:
        """Return the most similar node and the number of shared links, or None."""
        linked = self._new_nodes(self._links.targets_of(node))
        linking = self._new_nodes(self._backlinks.targets_of(node))
        similar = linked_from(self._new_backlinks, linked), linked_from(self._new_links, linking)
        shared = np.bincount(np.concatenate(similar), minlength=self._new_links.nodes)
        shared[taken] = 0
        shared[~self._is_on_host(node)] = 0
        if not (most := shared.max(initial=0)):
            return None
        tied = np.flatnonzero(shared == most)
        return int(tied[self._degrees[tied].argmin()]), int(most)

    def _new_nodes(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Map nodes to the newer graph, without nodes that have vanished."""
        found = map(self._new_node.get, nodes.tolist())
        return np.array([node for node in found if node is not None], dtype=np.int64)

    def _is_on_host(self, node: int) -> NDArray[np.bool_]:
        host = self._hosts.names[self._hosts.of_node[node]]
        names = list(self._new_hosts.names)
        number = names.index(host) if host in names else -1
        on_host: NDArray[np.bool_] = self._new_hosts.of_node == number
        return on_host


def _in_the_new(
    old: NamedGraph, new: NamedGraph, nodes: NDArray[np.integer]
) -> dict[int, int | None]:
    """Map nodes to the newer graph by name, in one look-up, which may scan all names."""
    places = nodes.tolist()
    return dict(zip(places, new.names.find(old.names.of(places)), strict=True))


# ================================================================ seed sets


class SeedChoice(StrEnum):
    """Page of a core that becomes its seed."""

    HUB = "hub"
    AUTHORITY = "authority"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeedSet:
    """Seeds and their cores, at least one."""

    named: NamedGraph
    between_hosts: Csr
    """Links from one host to another: only these count for the cores."""
    cores: Sequence[Core]
    seeds: Sequence[int]
    hosts: NodeHosts


def seed_set(
    named: NamedGraph,
    count: int,
    rule: CoreRule,
    choice: SeedChoice,
    tell: Progress = unreported,
) -> SeedSet:
    """Return `count` seeds, or one per community if there are fewer communities."""
    hosts = named.names.hosts()
    pruned = between_hosts(named.graph, hosts.of_node)
    cores = extracted(pruned, count, rule, tell=tell)
    if not named.graph.edges:
        raise UsageError("the graph has no links: seeds are taken from communities of linked pages")
    if not cores:
        raise UsageError(
            f"none of the {named.graph.edges:,} links leads from one host to another: "
            "the communities that seeds are taken from are made of such links"
        )
    is_hub = choice is SeedChoice.HUB
    seeds = [core.best_hub if is_hub else core.best_authority for core in cores]
    return SeedSet(named=named, between_hosts=pruned, cores=cores, seeds=seeds, hosts=hosts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransferredSeeds:
    """Seeds in the graph to crawl; `replacements` has the fate of each seed in a newer graph."""

    named: NamedGraph
    seeds: Sequence[int]
    replacements: Sequence[SeedReplacement] = ()


def transferred(found: SeedSet, newer: NamedGraph, *, similar: bool) -> TransferredSeeds:
    """Return the seeds in a newer graph; with `similar`, similar pages replace vanished seeds."""
    look_up = most_similar if similar else still_there
    replacements = look_up(found.named, newer, found.seeds)
    nodes = [one.node for one in replacements if one.node is not None]
    if not nodes:
        raise UsageError("no seed is in the newer graph: it must be a graph of the same web")
    seeds = list(dict.fromkeys(nodes))
    return TransferredSeeds(named=newer, seeds=seeds, replacements=replacements)
