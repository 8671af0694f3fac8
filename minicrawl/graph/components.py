"""Which pages hang together: strongly, by links both ways, and weakly, by links either way.

Law: two pages are in one strong component if a path leads from each of them to the other, and in
one weak component if links join them whatever way they point. Every page is in exactly one of
each; components are numbered from 0.

On the web one strong component holds a great part of all links. It is found first, by two breadth-
first searches from a page in the thick of it; what is left goes through Tarjan's algorithm, in the
form that needs one number a page (Pearce, 2016).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import UNREACHED, levels

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The component of every page, and how many pages each has."""

    of_node: Ids
    sizes: NDArray[np.int64]

    @property
    def count(self) -> int:
        return len(self.sizes)

    def largest(self) -> NDArray[np.bool_]:
        """Which pages are in the component with the most of them; of equals in the first."""
        if not self.count:
            return np.zeros(0, dtype=np.bool_)
        found: NDArray[np.bool_] = self.of_node == self.sizes.argmax()
        return found


def edges_within(graph: Csr, pages: NDArray[np.bool_]) -> int:
    """How many links lead from one of these pages to one of them."""
    return int(np.count_nonzero(pages[graph.sources()] & pages[graph.targets]))


def strong(graph: Csr) -> Components:
    """Components of links both ways."""
    if not graph.edges:
        return _numbered(np.arange(graph.nodes, dtype=np.int32))
    core = _around(graph, _pivot(graph))
    # All of the core bears one number, and what is left the numbers above.
    component = np.zeros(graph.nodes, dtype=np.int64)
    component[~core] = 1 + _Tarjan(_without(graph, core)).marks()
    return _numbered(component)


def weak(graph: Csr) -> Components:
    """Components of links either way: pages take the least number that is near until none moves."""
    least = np.arange(graph.nodes, dtype=np.int32)
    one, other = graph.sources(), graph.targets
    while one.size:
        near = np.minimum(least[one], least[other])
        np.minimum.at(least, least[one], near)
        np.minimum.at(least, least[other], near)
        _shorten(least)
        apart = least[one] != least[other]
        one, other = one[apart], other[apart]
    return _numbered(least)


def _numbered(marks: NDArray[np.integer]) -> Components:
    """Pages that bear the same mark make a component."""
    _, of_node, sizes = np.unique(marks, return_inverse=True, return_counts=True)
    return Components(of_node.astype(np.int32), sizes.astype(np.int64, copy=False))


def _shorten(least: Ids) -> None:
    """Let every page point at the end of its chain."""
    while (ends := least[least]).tobytes() != least.tobytes():
        least[:] = ends


def _pivot(graph: Csr) -> int:
    """A page in the thick of it."""
    return int((graph.out_degrees() * graph.in_degrees()).argmax())


def _around(graph: Csr, page: int) -> NDArray[np.bool_]:
    """The pages that it reaches and that reach it."""
    forth, back = levels(graph, [page]), levels(graph.reversed(), [page])
    found: NDArray[np.bool_] = (forth != UNREACHED) & (back != UNREACHED)
    return found


def _without(graph: Csr, core: NDArray[np.bool_]) -> Csr:
    """The graph of all other pages, in their order."""
    sources = graph.sources()
    stays = ~(core[sources] | core[graph.targets])
    place = np.cumsum(~core, dtype=np.int64) - 1
    degrees = np.bincount(place[sources[stays]], minlength=int(np.count_nonzero(~core)))
    starts = np.concatenate(([0], np.cumsum(degrees)))
    return Csr(starts=starts, targets=place[graph.targets[stays]].astype(np.int32))


class _Tarjan:
    """One walk along all links, depth first.

    low   0 of a page that was not met; the number of a page on the path, or the least number of
          those it leads back to; above all numbers the mark of a component that is complete
    path  from the page where the walk began to the one that is looked at
    done  pages whose links were all followed, and whose component is not complete
    """

    def __init__(self, graph: Csr) -> None:
        self._starts, self._targets = graph.starts.tolist(), graph.targets.tolist()
        self._low = [0] * graph.nodes
        self._path: list[tuple[int, int, Iterator[int]]] = []
        self._done: list[int] = []
        self._met, self._mark = 0, graph.nodes

    def marks(self) -> NDArray[np.int64]:
        """A mark for each page, the same for all of a component."""
        low = self._low
        for page in range(len(low)):
            if not low[page]:
                self._enter(page)
                self._walk()
        return np.array(low, dtype=np.int64)

    def _walk(self) -> None:
        low, path = self._low, self._path
        while path:
            page, _, rest = path[-1]
            for target in rest:
                if not low[target]:
                    self._enter(target)
                    break
                low[page] = min(low[page], low[target])
            else:
                self._leave()

    def _enter(self, page: int) -> None:
        self._met += 1
        self._low[page] = self._met
        rest = iter(self._targets[self._starts[page] : self._starts[page + 1]])
        self._path.append((page, self._met, rest))

    def _leave(self) -> None:
        low, path, done = self._low, self._path, self._done
        page, number, _ = path.pop()
        done.append(page)
        if low[page] < number:
            before = path[-1][0]
            low[before] = min(low[before], low[page])
            return
        self._mark += 1
        while done and number <= low[done[-1]]:
            low[done.pop()] = self._mark
