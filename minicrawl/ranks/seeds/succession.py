"""Seeds from an old graph in a newer one: which are still there, and what may stand in for others.

Laws: a seed is still there if the newer graph has a node of its name. Otherwise the page most like
it is one on the same host that shares a link with it, and the most links: the seed's are those of
the old graph, the page's those of the newer one, in or out, the other ends being known by name. Of
equals, it is the one with the fewest links besides, then the first of the graph. No page stands in
for two seeds, nor is one taken that is a seed already.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.distances import linked_from
from minicrawl.graph.named import NamedGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class Heir:
    """What became of a seed; `node` is of the newer graph, None where nothing is left of it."""

    seed: str
    node: int | None
    shared_links: int | None = None
    """Where another page stands in for the seed."""


def still_there(old: NamedGraph, new: NamedGraph, seeds: Sequence[int]) -> list[Heir]:
    """The seeds by their names."""
    names = old.names.of(seeds)
    found = new.names.find(names)
    return [Heir(seed=name, node=node) for name, node in zip(names, found, strict=True)]


def most_similar(old: NamedGraph, new: NamedGraph, seeds: Sequence[int]) -> list[Heir]:
    """The same, and for those that vanished what is like them."""
    heirs = still_there(old, new, seeds)
    taken = [heir.node for heir in heirs if heir.node is not None]
    if not (vanished := [place for place, heir in enumerate(heirs) if heir.node is None]):
        return heirs
    likeness = _Likeness(old, new, [seeds[place] for place in vanished])
    for place in vanished:
        if like := likeness.best(seeds[place], taken):
            node, shared_links = like
            heirs[place] = replace(heirs[place], node=node, shared_links=shared_links)
            taken.append(node)
    return heirs


class _Likeness:
    """Which nodes of a newer graph are like some of an old graph."""

    def __init__(self, old: NamedGraph, new: NamedGraph, nodes: Sequence[int]) -> None:
        self._links, self._backlinks = old.graph, old.graph.reversed()
        self._new_links, self._new_backlinks = new.graph, new.graph.reversed()
        self._degrees = new.graph.out_degrees() + new.graph.in_degrees()
        self._hosts, self._new_hosts = old.names.hosts(), new.names.hosts()
        ends = [self._links.targets_of(node) for node in nodes]
        ends += [self._backlinks.targets_of(node) for node in nodes]
        self._new_node = _in_the_new(old, new, np.unique(np.concatenate(ends)))

    def best(self, node: int, taken: Sequence[int]) -> tuple[int, int] | None:
        """The node that is most like it, and how many links they share."""
        shared = self._shared_links(node)
        shared[taken] = 0
        shared[~self._is_on_host(node)] = 0
        if not (most := shared.max(initial=0)):
            return None
        equals = np.flatnonzero(shared == most)
        return int(equals[self._degrees[equals].argmin()]), int(most)

    def _shared_links(self, node: int) -> NDArray[np.int64]:
        linked = self._new_nodes(self._links.targets_of(node))
        linking = self._new_nodes(self._backlinks.targets_of(node))
        likes = linked_from(self._new_backlinks, linked), linked_from(self._new_links, linking)
        return np.bincount(np.concatenate(likes), minlength=self._new_links.nodes)

    def _new_nodes(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Those of them that are still there."""
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
    """The nodes of the same names; asked for at once, as that may be a look at all names."""
    places = nodes.tolist()
    return dict(zip(places, new.names.find(old.names.of(places)), strict=True))
