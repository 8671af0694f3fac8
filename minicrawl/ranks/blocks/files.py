"""Files of a graph's links by block, and the memory that each part may take."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.link_builder import Ids, LinkArrays
from minicrawl.ranks.blocks.columns import DiskColumn, DiskTraffic, Sorter

Places = NDArray[np.int32]
"""Offsets of nodes in a stretch or a block."""

MEGA: Final = 1_000_000
LEAST_FREE: Final = 4 * MEGA
"""Least working memory in bytes: with less, each read would be too small."""

_BLOCK, _SORTED, _TEXT, _STRETCH, _LINKS = 16, 32, 32, 64, 256  # bytes of memory per item
_ENOUGH = 1 << 20  # larger portions are no faster


class MemoryPlan(NamedTuple):
    """Numbers of items that are in memory together."""

    block: int  # nodes whose scores are computed together
    sorted: int  # numbers sorted together
    text: int  # bytes of a file
    stretch: int  # source nodes
    at_once: int  # links, or scores of nodes, processed together


def memory_plan(free: int) -> MemoryPlan:
    """Divide `free` bytes among the items."""
    return MemoryPlan(
        block=free // _BLOCK,
        sorted=min(free // _SORTED, 16 * _ENOUGH),
        text=min(free // _TEXT, _ENOUGH),
        stretch=min(free // _STRETCH, _ENOUGH),
        at_once=min(free // _LINKS, _ENOUGH),
    )


def free_for(block: int) -> int:
    """Return the bytes needed for a block of this many nodes."""
    return max(block * _BLOCK, LEAST_FREE)


class NodeIds:
    """The ids that occur in links, sorted on disk: node i has the i-th id."""

    def __init__(self, links: Iterable[LinkArrays], memory: MemoryPlan, folder: Path) -> None:
        self._at_once = memory.sorted
        self.column = DiskColumn(folder / "ids", np.int64)
        sorter = Sorter(folder, memory.sorted)
        for block in links:
            sorter.add(block.sources)
            sorter.add(block.targets)
        for ids in sorter.in_order():
            self.column.append(ids)
        self._first = int(self.column.read(0, 1)[0])
        last = int(self.column.read(len(self) - 1, 1)[0])
        self._is_dense = last - self._first + 1 == len(self)

    def __len__(self) -> int:
        return len(self.column)

    def of(self, nodes: Sequence[int]) -> list[str]:
        if self._is_dense:
            return [str(self._first + node) for node in nodes]
        distinct, places = np.unique(np.asarray(nodes, dtype=np.int64), return_inverse=True)
        ids = np.empty_like(distinct)
        for first in range(0, len(self), self._at_once):
            begin, end = np.searchsorted(distinct, (first, first + self._at_once))
            if begin < end:
                part = self.column.read(first, self._at_once)
                ids[begin:end] = part[distinct[begin:end] - first]
        return list(map(str, ids[places].tolist()))

    def links(self, links: LinkArrays) -> LinkArrays:
        return LinkArrays(self._nodes(links.sources), self._nodes(links.targets))

    def _nodes(self, ids: Ids) -> Ids:
        if self._is_dense:
            return ids - self._first
        distinct, places = np.unique(ids, return_inverse=True)
        nodes = np.empty_like(distinct)
        for first in range(0, len(self), self._at_once):
            part = self.column.read(first, self._at_once)
            begin = np.searchsorted(distinct, part[0])
            end = np.searchsorted(distinct, part[-1], side="right")
            nodes[begin:end] = first + np.searchsorted(part, distinct[begin:end])
        return nodes[places]


class LinksByBlock:
    """Links between nodes on disk, sorted by cell, as offsets within stretch and block."""

    def __init__(self, nodes: int, memory: MemoryPlan, folder: Path, traffic: DiskTraffic) -> None:
        self.edges = 0
        self._nodes, self._block, self._stretch = nodes, memory.block, memory.stretch
        self._stretches = -(-nodes // memory.stretch)
        self._links = DiskColumn(folder / "links", np.int32, traffic=traffic)
        self._cells, self._ends = array("q"), array("q", [0])

    def keys(self, links: LinkArrays) -> Ids:
        """Return each link as one number below (2 * nodes)^2, in the order of the file."""
        blocks, places = np.divmod(links.targets, self._block)
        return (blocks * self._nodes + links.sources) * self._block + places

    def append(self, keys: Ids) -> Iterator[tuple[int, Ids]]:
        """Write sorted links; yield the first node and the sources (as offsets) of each cell."""
        quotients, targets = np.divmod(keys, self._block)
        blocks, sources = np.divmod(quotients, self._nodes)
        stretches, sources = np.divmod(sources, self._stretch)
        cells = blocks * self._stretches + stretches
        cuts = np.flatnonzero(np.diff(cells, prepend=-1)).tolist()
        for start, end in pairwise([*cuts, len(keys)]):
            ends = np.concatenate((sources[start:end], targets[start:end]))
            self._links.append(ends.astype(np.int32))
            self.edges += end - start
            self._cells.append(int(cells[start]))
            self._ends.append(self.edges)
            yield int(stretches[start]) * self._stretch, sources[start:end]

    def pieces(self, block: int) -> Iterator[tuple[int, Places, Places]]:
        """Yield the stretches with links to this block, with the offsets of sources and targets."""
        first, last = (
            bisect_left(self._cells, number * self._stretches) for number in (block, block + 1)
        )
        for place in range(first, last):
            start, end = self._ends[place], self._ends[place + 1]
            ends = self._links.read(2 * start, 2 * (end - start))
            sources, targets = np.split(ends, 2)
            yield self._cells[place] % self._stretches, sources, targets


class BlockFiles:
    """Links and columns of a graph in a folder. `traffic` counts the reads and writes."""

    def __init__(self, nodes: int, memory: MemoryPlan, folder: Path) -> None:
        self.nodes, self.memory = nodes, memory._replace(block=min(memory.block, nodes))
        self.blocks = -(-nodes // self.memory.block)
        self.traffic = DiskTraffic()
        self.links = LinksByBlock(nodes, self.memory, folder, self.traffic)
        self._folder = folder
        names = ("degrees", "scores", "given", "given-next")
        self.degrees, self.scores, self.given, self.given_next = (
            DiskColumn(folder / name, np.float64, nodes, self.traffic) for name in names
        )

    def fill(self, links: Iterable[LinkArrays]) -> None:
        sorter, at_once = Sorter(self._folder, self.memory.sorted), self.memory.at_once
        for block in links:
            sorter.add(self.links.keys(block))
        for keys in sorter.in_order():
            for first in range(0, len(keys), at_once):
                for node, sources in self.links.append(keys[first : first + at_once]):
                    # Degrees are counted as links are written, stretch by stretch: an array of all
                    # nodes may not fit into memory.
                    counts = np.bincount(sources)
                    self.degrees.write(node, self.degrees.read(node, len(counts)) + counts)

    def turn(self) -> None:
        """Start the next iteration: swap the columns `given` and `given_next`."""
        self.given, self.given_next = self.given_next, self.given
