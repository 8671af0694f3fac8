"""Seeds of an old graph in a newer one.

A seed still exists if a node of the newer graph has its name. Otherwise a similar page may replace
it: the page of its host that shares the most links with it, at least one. Links of the seed in the
old graph are compared with links of the page in the newer one, in and out, with ends matched by
name. Ties go to the page with the fewest other links, then to the first of the graph. No page
replaces two seeds, and no seed replaces another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.distances import linked_from
from minicrawl.graph.named_graph import NamedGraph


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
