"""Seeds for a crawl, one from each community of a graph (Daneshpajouh, Nasiri, Ghodsi, 2008).

Seeds of an old graph are looked up in a newer one, where a seed still exists if a node has its
name. Otherwise a similar page may replace it: the page of its host that shares the most links with
it, at least one. Links of the seed in the old graph are compared with links of the page in the
newer one, in and out, with ends matched by name. Ties go to the page with the fewest other links,
then to the first of the graph. No page replaces two seeds, and no seed replaces another.

Seeds are judged by the distances between their cores, and by how fast crawls gather importance.
A crawl is breadth-first along all links, so a page's depth is its distance from the nearest seed.
Over several crawls, a depth has the mean number of pages, and the mean importance of all pages
that the crawls read there. Equal depths of two crawls are not comparable: the crawl that is wider
at a depth has also read more unimportant pages. So crawls are compared after equal numbers of
pages, too; a crawl that has ended keeps what it gathered. The distance from one core to another
is the length of the shortest path in this direction; pairs without a path are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Nodes, fronts, levels, linked_from
from minicrawl.graph.named_graph import NamedGraph, NodeHosts
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.cores import Core, CoreRule, between_hosts, extracted
from minicrawl.ranks.scores import Floats


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
    nodes = new.names.find(names)
    return [SeedReplacement(seed=name, node=node) for name, node in zip(names, nodes, strict=True)]


def most_similar(old: NamedGraph, new: NamedGraph, seeds: Sequence[int]) -> list[SeedReplacement]:
    """Look up the seeds by name; similar pages replace vanished seeds."""
    replacements = still_there(old, new, seeds)
    taken = [replaced.node for replaced in replacements if replaced.node is not None]
    if len(taken) == len(seeds):
        return replacements
    vanished = {
        place: seeds[place] for place, replaced in enumerate(replacements) if replaced.node is None
    }
    similarity = _Similarity(old, new, list(vanished.values()))
    for place, seed in vanished.items():
        if best := similarity.best(seed, taken):
            node, shared_links = best
            replacements[place] = replace(replacements[place], node=node, shared_links=shared_links)
            taken.append(node)
    return replacements


class _Similarity:
    """Similarity of nodes of a newer graph to some nodes of an old graph."""

    def __init__(self, old: NamedGraph, new: NamedGraph, nodes: Sequence[int]) -> None:
        self._links, self._backlinks = old.graph, old.graph.reversed()
        self._new_links, self._new_backlinks = new.graph, new.graph.reversed()
        self._degrees = new.graph.out_degrees() + new.graph.in_degrees()
        self._hosts, self._new_hosts = old.names.hosts(), new.names.hosts()
        ends = [self._links.targets_of(node) for node in nodes]
        ends += [self._backlinks.targets_of(node) for node in nodes]
        # One look-up for all: it may scan all names.
        linked = np.unique(np.concatenate(ends)).tolist()
        self._new_node = dict(zip(linked, new.names.find(old.names.of(linked)), strict=True))

    def best(self, node: int, taken: Sequence[int]) -> tuple[int, int] | None:
        """Return the most similar node and the number of shared links, or None."""
        linked = self._new_nodes(self._links.targets_of(node))
        linking = self._new_nodes(self._backlinks.targets_of(node))
        similar = linked_from(self._new_backlinks, linked), linked_from(self._new_links, linking)
        shared = np.bincount(np.concatenate(similar), minlength=self._new_links.nodes)
        shared[taken] = 0
        host, names = self._hosts.names[self._hosts.of_node[node]], list(self._new_hosts.names)
        shared[self._new_hosts.of_node != (names.index(host) if host in names else -1)] = 0
        if not (most := shared.max(initial=0)):
            return None
        tied = np.flatnonzero(shared == most)
        return int(tied[self._degrees[tied].argmin()]), int(most)

    def _new_nodes(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Map nodes to the newer graph, without nodes that have vanished."""
        new_nodes = map(self._new_node.get, nodes.tolist())
        return np.array([node for node in new_nodes if node is not None], dtype=np.int64)


POOL = 10
"""Number of cores from which one is drawn at random."""


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
    *,
    rng: np.random.Generator | None = None,
) -> SeedSet:
    """Return `count` seeds, or one per community if there are fewer communities.

    `rng` draws the cores among the `POOL` x `count` strongest; without it, the strongest are taken.
    """
    hosts = named.names.hosts()
    pruned = between_hosts(named.graph, hosts.of_node)
    cores = extracted(pruned, count if rng is None else POOL * count, rule, tell=tell)
    if rng is not None and len(cores) > count:
        drawn = rng.choice(len(cores), size=count, replace=False)
        cores = [cores[place] for place in np.sort(drawn).tolist()]
    if not named.graph.edges:
        raise UsageError("the graph has no links: seeds are taken from communities of linked pages")
    if not cores:
        raise UsageError(
            f"none of the {named.graph.edges:,} links leads from one host to another: "
            "the communities that seeds are taken from are made of such links"
        )
    is_hub = choice is SeedChoice.HUB
    seeds = [core.best_hub if is_hub else core.authorities[0] for core in cores]
    return SeedSet(named=named, between_hosts=pruned, cores=cores, seeds=seeds, hosts=hosts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TransferredSeeds:
    """Seeds in the graph to crawl; `replacements` has the fate of each seed in a newer graph."""

    named: NamedGraph
    seeds: Sequence[int]
    replacements: Sequence[SeedReplacement] = ()


def transferred(old: SeedSet, newer: NamedGraph, *, similar: bool) -> TransferredSeeds:
    """Return the seeds in a newer graph; with `similar`, similar pages replace vanished seeds."""
    look_up = most_similar if similar else still_there
    replacements = look_up(old.named, newer, old.seeds)
    nodes = [replacement.node for replacement in replacements if replacement.node is not None]
    if not nodes:
        raise UsageError("no seed is in the newer graph: it must be a graph of the same web")
    seeds = list(dict.fromkeys(nodes))
    return TransferredSeeds(named=newer, seeds=seeds, replacements=replacements)


class Depth(NamedTuple):
    """Mean number of pages that crawls read at one depth, and their mean importance, if any."""

    pages: float
    mean_pagerank: float | None
    random_pages: float
    """By crawls from random pages."""
    random_mean_pagerank: float | None


class EqualPages(NamedTuple):
    """Shares of all importance that crawls have gathered after the same number of pages."""

    pages: int
    pagerank: float
    random_pagerank: float
    random_error: float | None
    """Standard error of `random_pagerank`; None with a single draw."""


def between_cores(
    graph: Csr, cores: Sequence[Core], tell: Progress = unreported
) -> NDArray[np.int32]:
    """Return the shortest distances [i, j] from any page of core i to any page of core j."""
    pages = [[*core.hubs, *core.authorities] for core in cores]
    rows = []
    for sources in pages:
        level = levels(graph, sources)
        # As unsigned numbers, UNREACHED is farther than any distance.
        rows.append([level[core].view(np.uint32).min().view(np.int32) for core in pages])
        tell(len(rows) / len(pages))
    return np.array(rows, dtype=np.int32).reshape(len(pages), len(pages))


def summary_of(distances: NDArray[np.int32]) -> tuple[int, float, int] | tuple[None, None, None]:
    """Return the least, mean and greatest distance between cores that reach each other."""
    paths = distances[distances > 0]
    if not paths.size:
        return None, None, None
    return int(paths.min()), float(paths.mean()), int(paths.max())


def compared(
    graph: Csr,
    importance: Floats,
    seeds: Nodes,
    rng: Generator,
    *,
    draws: int,
    tell: Progress = unreported,
) -> tuple[list[Depth], list[EqualPages]]:
    """Compare a crawl from the seeds with `draws` crawls from random pages.

    Return the coverage of each depth, and the shares gathered after equal numbers of pages.
    """
    # Crawls are compared after 1, 2, 5, 10, ... pages, and after all.
    steps = [count * 10**power for power in range(len(str(graph.nodes))) for count in (1, 2, 5)]
    marks = [mark for mark in steps if len(seeds) < mark < graph.nodes]
    marks += [graph.nodes] * (graph.nodes > 0)
    sums, gathered = list[list[tuple[int, float]]](), list[Floats]()
    for crawl in range(draws + 1):
        tell(crawl / (draws + 1))
        starts = rng.choice(graph.nodes, size=len(seeds), replace=False) if crawl else seeds
        read = list(fronts(graph, starts))
        sums.append([(len(pages), float(importance[pages].sum())) for pages in read])
        in_order = importance[np.concatenate(read)] if read else np.zeros(0)
        totals = np.concatenate(([0.0], np.cumsum(in_order)))
        gathered.append(totals[np.minimum(np.array(marks, dtype=np.int64), len(in_order))])
    tell(1.0)
    depths = [
        Depth(*_mean(of_depth[:1]), *_mean(of_depth[1:]))
        for of_depth in zip_longest(*sums, fillvalue=(0, 0.0))
    ]
    most = max(sum(pages for pages, _ in of_crawl) for of_crawl in sums)
    random = np.array(gathered[1:])
    errors = random.std(axis=0, ddof=1) / len(random) ** 0.5 if len(random) > 1 else None
    after = [
        EqualPages(
            pages=min(mark, most),
            pagerank=float(gathered[0][place]),
            random_pagerank=float(random[:, place].mean()),
            random_error=None if errors is None else float(errors[place]),
        )
        for place, mark in enumerate(marks)
        if not place or marks[place - 1] < most
    ]
    return depths, after


def _mean(sums: Sequence[tuple[int, float]]) -> tuple[float, float | None]:
    """Return the mean number of pages, and their mean importance, from those sums of crawls."""
    pages, importance = (sum(column) for column in zip(*sums, strict=True))
    return pages / len(sums), importance / pages if pages else None
