"""The links of a graph on disk by blocks of destinations, for `ranks.walks.blocks`.

Law: links are in the order of their blocks, within these of their sources, each link once; memory
holds a few numbers for each piece, and none for a node or a link.

cell  a block and a stretch, as one number: what links have in common that are read together

How memory is shared out where a graph does not fit into it.

Law: what works at one time takes no more than `free` bytes together; each share is what so many
things take, copies included.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.links import Ids, LinkArrays
from minicrawl.graphfiles.sorting import DiskColumn, Sorter
from minicrawl.ranks.walks.blocks import Piece

MEGA: Final = 1_000_000
LEAST_FREE: Final = 4 * MEGA
"""With less all would be done in crumbs."""

_BLOCK, _SORTED, _TEXT, _STRETCH, _LINKS = 16, 32, 32, 64, 256  # bytes of `free` for each
_ENOUGH = 1 << 20  # larger portions are no quicker


class Room(NamedTuple):
    """What fits into memory."""

    block: int  # nodes whose scores are made together
    sorted: int  # numbers put in order together
    text: int  # bytes of a file
    stretch: int  # nodes that links come from
    links: int  # worked on together


def room_in(free: int) -> Room:
    """The shares of so many bytes."""
    return Room(
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

    def __init__(self, links: Iterable[LinkArrays], room: Room, folder: Path) -> None:
        self._at_once = room.sorted
        self.column = DiskColumn(folder / "ids", np.int64)
        sorter = Sorter(folder, room.sorted)
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


class BlockFiles:
    """The `Files` of `ranks.walks.blocks`, in a folder."""

    def __init__(self, nodes: int, room: Room, folder: Path) -> None:
        self.nodes, self.block = nodes, min(room.block, nodes)
        self.stretch, self.at_once = room.stretch, room.links
        self.edges = 0
        self._stretches = -(-nodes // room.stretch)
        self._folder, self._room = folder, room
        self._links = DiskColumn(folder / "links", np.int32)
        self._cells, self._ends = array("q"), array("q", [0])
        names = ("degrees", "scores", "given", "given-next")
        self.degrees, self.scores, self.given, self.given_next = (
            DiskColumn(folder / name, np.float64, nodes) for name in names
        )

    def fill(self, links: Iterable[LinkArrays]) -> None:
        """Lay out the links between nodes."""
        sorter = Sorter(self._folder, self._room.sorted)
        for some in links:
            sorter.add(self._keys(some))
        for keys in sorter.in_order():
            for first in range(0, len(keys), self._room.links):
                self._append(keys[first : first + self._room.links])

    def pieces(self, block: int) -> Iterator[Piece]:
        first, last = (
            bisect_left(self._cells, number * self._stretches) for number in (block, block + 1)
        )
        for place in range(first, last):
            start, end = self._ends[place], self._ends[place + 1]
            ends = self._links.read(2 * start, 2 * (end - start))
            yield Piece(self._cells[place] % self._stretches, *np.split(ends, 2))

    def turn(self) -> None:
        self.given, self.given_next = self.given_next, self.given

    def _keys(self, links: LinkArrays) -> Ids:
        """Each link as one number, below the square of twice the nodes, in the order to be."""
        blocks, places = np.divmod(links.targets, self.block)
        return (blocks * self.nodes + links.sources) * self.block + places

    def _append(self, keys: Ids) -> None:
        rest, targets = np.divmod(keys, self.block)
        blocks, sources = np.divmod(rest, self.nodes)
        stretches, sources = np.divmod(sources, self.stretch)
        cells = blocks * self._stretches + stretches
        cuts = np.flatnonzero(np.diff(cells, prepend=-1)).tolist()
        for start, end in pairwise([*cuts, len(keys)]):
            self._cells.append(int(cells[start]))
            self._put(int(stretches[start]) * self.stretch, sources[start:end], targets[start:end])

    def _put(self, first: int, sources: Ids, targets: NDArray[np.int64]) -> None:
        counts = np.bincount(sources)
        self.degrees.write(first, self.degrees.read(first, len(counts)) + counts)
        self._links.append(np.concatenate((sources, targets)).astype(np.int32))
        self.edges += len(sources)
        self._ends.append(self.edges)
