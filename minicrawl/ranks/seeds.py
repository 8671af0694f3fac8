"""Seeds for a crawl, one from each community of a graph (Daneshpajouh, Nasiri, Ghodsi, 2008).

Seeds of an old graph are looked up in a newer one, where a seed still exists if a node has its
name. Otherwise a similar page may replace it: the page of its host that shares the most links with
it, at least one. Links of the seed in the old graph are compared with links of the page in the
newer one, in and out, with ends matched by name. Ties go to the page with the fewest other links,
then to the first of the graph. No page replaces two seeds, and no seed replaces another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import linked_from
from minicrawl.graph.named_graph import NamedGraph, NodeHosts
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.cores import Core, CoreRule, between_hosts, extracted


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
    seeds = [core.best_hub if is_hub else core.best_authority for core in cores]
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
