"""The files of a graph that does not fit in memory, for `ranks.walks.blocks`.

Laws: links are in the order of their blocks, within these of their sources, each link once. Memory
holds a few numbers for each piece, and none for a node or a link. What works at one time takes no
more than `free` bytes together; each share of `MemoryPlan` is what so many things take, copies
included.

block    some nodes in a row, whose scores are made together
stretch  some nodes in a row, whose links are read together
cell     a block and a stretch, as one number: what links have in common that are read together
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from minicrawl.graph.links import Ids, LinkArrays
from minicrawl.graphfiles.sorting import DiskColumn, Sorter
from minicrawl.ranks.walks.blocks import BlockSizes, Piece

MEGA: Final = 1_000_000
LEAST_FREE: Final = 4 * MEGA
"""With less all would be done in crumbs."""

_BLOCK, _SORTED, _TEXT, _STRETCH, _LINKS = 16, 32, 32, 64, 256  # bytes of `free` for each
_ENOUGH = 1 << 20  # larger portions are no quicker


class MemoryPlan(NamedTuple):
    """How many of each fit into memory together."""

    block: int  # nodes whose scores are made together
    sorted: int  # numbers put in order together
    text: int  # bytes of a file
    stretch: int  # nodes that links come from
    links: int  # worked on together


def memory_plan(free: int) -> MemoryPlan:
    """How so many bytes are shared out."""
    return MemoryPlan(
        block=free // _BLOCK,
        sorted=min(free // _SORTED, 16 * _ENOUGH),
        text=min(free // _TEXT, _ENOUGH),
        stretch=min(free // _STRETCH, _ENOUGH),
        links=min(free // _LINKS, _ENOUGH),
    )


def free_for(block: int) -> int:
    """How many bytes let so many nodes be a block."""
    return max(block * _BLOCK, LEAST_FREE)


class NodeIds:
    """The ids that occur in links, in order on disk: node i is the i-th of them."""

    def __init__(self, links: Iterable[LinkArrays], memory: MemoryPlan, folder: Path) -> None:
        self._at_once = memory.sorted
        self.column = DiskColumn(folder / "ids", np.int64)
        sorter = Sorter(folder, memory.sorted)
        for some in links:
            sorter.add(some.sources)
            sorter.add(some.targets)
        for ids in sorter.in_order():
            self.column.append(ids)
        self._first, last = (
            int(self.column.read(0, 1)[0]),
            int(self.column.read(len(self) - 1, 1)[0]),
        )
        self._is_dense = last - self._first + 1 == len(self)

    def __len__(self) -> int:
        return len(self.column)

    def links(self, links: LinkArrays) -> LinkArrays:
        """The same between nodes."""
        return LinkArrays(self._nodes(links.sources), self._nodes(links.targets))

    def _nodes(self, ids: Ids) -> Ids:
        if self._is_dense:
            return ids - self._first
        wanted, places = np.unique(ids, return_inverse=True)
        found = np.empty_like(wanted)
        for first in range(0, len(self), self._at_once):
            some = self.column.read(first, self._at_once)
            begin = np.searchsorted(wanted, some[0])
            end = np.searchsorted(wanted, some[-1], side="right")
            found[begin:end] = first + np.searchsorted(some, wanted[begin:end])
        return found[places]


class LinksByBlock:
    """The links between nodes on disk, by the block they lead to and the stretch they come from.

    They are written and read in the order of the cells, as places within stretch and block.
    """

    def __init__(self, sizes: BlockSizes, folder: Path) -> None:
        self.edges = 0
        self._sizes = sizes
        self._stretches = -(-sizes.nodes // sizes.stretch)
        self._links = DiskColumn(folder / "links", np.int32)
        self._cells, self._ends = array("q"), array("q", [0])

    def keys(self, links: LinkArrays) -> Ids:
        """Each link as one number, below the square of twice the nodes, in the order to be."""
        blocks, places = np.divmod(links.targets, self._sizes.block)
        return (blocks * self._sizes.nodes + links.sources) * self._sizes.block + places

    def append(self, keys: Ids) -> Iterator[tuple[int, Ids]]:
        """Write down links. The result is the first node of each stretch, and its sources."""
        rest, targets = np.divmod(keys, self._sizes.block)
        blocks, sources = np.divmod(rest, self._sizes.nodes)
        stretches, sources = np.divmod(sources, self._sizes.stretch)
        cells = blocks * self._stretches + stretches
        cuts = np.flatnonzero(np.diff(cells, prepend=-1)).tolist()
        for start, end in pairwise([*cuts, len(keys)]):
            ends = np.concatenate((sources[start:end], targets[start:end]))
            self._links.append(ends.astype(np.int32))
            self.edges += end - start
            self._cells.append(int(cells[start]))
            self._ends.append(self.edges)
            yield int(stretches[start]) * self._sizes.stretch, sources[start:end]

    def pieces(self, block: int) -> Iterator[Piece]:
        """The links to this block, stretch after stretch."""
        first, last = (
            bisect_left(self._cells, number * self._stretches) for number in (block, block + 1)
        )
        for place in range(first, last):
            start, end = self._ends[place], self._ends[place + 1]
            ends = self._links.read(2 * start, 2 * (end - start))
            yield Piece(self._cells[place] % self._stretches, *np.split(ends, 2))


class BlockFiles:
    """The `GraphOnDisk` of `ranks.walks.blocks`, in a folder."""

    def __init__(self, nodes: int, memory: MemoryPlan, folder: Path) -> None:
        self.sizes = BlockSizes(nodes, min(memory.block, nodes), memory.stretch, memory.links)
        self.links = LinksByBlock(self.sizes, folder)
        self._folder, self._sorted_at_once = folder, memory.sorted
        names = ("degrees", "scores", "given", "given-next")
        self.degrees, self.scores, self.given, self.given_next = (
            DiskColumn(folder / name, np.float64, nodes) for name in names
        )

    def fill(self, links: Iterable[LinkArrays]) -> None:
        """Lay out the links between nodes."""
        sorter, at_once = Sorter(self._folder, self._sorted_at_once), self.sizes.at_once
        for some in links:
            sorter.add(self.links.keys(some))
        for keys in sorter.in_order():
            for first in range(0, len(keys), at_once):
                for node, sources in self.links.append(keys[first : first + at_once]):
                    counts = np.bincount(sources)
                    self.degrees.write(node, self.degrees.read(node, len(counts)) + counts)

    def pieces(self, block: int) -> Iterator[Piece]:
        return self.links.pieces(block)

    def turn(self) -> None:
        self.given, self.given_next = self.given_next, self.given
