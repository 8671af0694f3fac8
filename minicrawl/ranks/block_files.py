"""Files of a graph that exceeds the memory, for `blocks`.

Links are ordered by block, then by source, and distinct. Memory holds a few numbers for each piece,
and none for a node or a link. Everything that is used at the same time takes at most `free` bytes;
each share of `MemoryPlan` is an upper bound for its items, copies included.

block    consecutive nodes whose scores are computed together
stretch  consecutive nodes whose links are read together
cell     a block and a stretch, as one number: the links of a cell are read together

`Sorter` sorts non-negative integers on disk and removes duplicates. It never holds more than twice
`at_once` numbers in memory. Files are open only while they are read or written, so nothing has to
be closed.

column  numbers in a file, read and written in parts
run     sorted numbers in a column of their own, as many as fit into memory
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Ids, LinkArrays, squeeze
from minicrawl.ranks.blocks import BlockSizes, Piece

Number = TypeVar("Number", np.int32, np.int64, np.float64)


@dataclass(slots=True)
class DiskTraffic:
    """Number of reads and writes of files, and their bytes."""

    reads: int = 0
    bytes_read: int = 0
    writes: int = 0
    bytes_written: int = 0

    def since(self, before: "DiskTraffic") -> "DiskTraffic":
        """Return the traffic since an earlier copy."""
        return DiskTraffic(
            self.reads - before.reads,
            self.bytes_read - before.bytes_read,
            self.writes - before.writes,
            self.bytes_written - before.bytes_written,
        )


class DiskColumn(Generic[Number]):
    """Numbers in a file, initially `count` zeros. Counts reads and writes in `traffic`."""

    def __init__(
        self,
        path: Path,
        kind: type[Number],
        count: int = 0,
        traffic: DiskTraffic | None = None,
    ) -> None:
        self.path = path
        self._traffic = traffic or DiskTraffic()
        self._kind: np.dtype[Number] = np.dtype(kind)
        with path.open("wb") as file:
            file.truncate(count * self._kind.itemsize)

    def __len__(self) -> int:
        return self.path.stat().st_size // self._kind.itemsize

    def read(self, first: int, count: int) -> NDArray[Number]:
        """Return `count` numbers, or fewer at the end of the file."""
        with self.path.open("rb", buffering=0) as file:
            file.seek(first * self._kind.itemsize)
            found = file.read(count * self._kind.itemsize)
        self._traffic.reads += 1
        self._traffic.bytes_read += len(found)
        return np.frombuffer(found, dtype=self._kind)

    def write(self, first: int, numbers: NDArray[Number]) -> None:
        with self.path.open("r+b", buffering=0) as file:
            file.seek(first * self._kind.itemsize)
            file.write(numbers.astype(self._kind, copy=False).tobytes())
        self._traffic.writes += 1
        self._traffic.bytes_written += len(numbers) * self._kind.itemsize

    def append(self, numbers: NDArray[Number]) -> None:
        self.write(len(self), numbers)

    def remove(self) -> None:
        self.path.unlink()

    def whole(self) -> NDArray[Number]:
        """Return all numbers, mapped into memory. The mapping survives the removal of the file."""
        return np.memmap(self.path, dtype=self._kind, mode="r")


Numbers = NDArray[np.int64]

_MOST_RUNS = 64
"""Most runs merged at a time: with more, reads would become too small."""


class Sorter:
    """Takes numbers in any order and returns them sorted and distinct; for one use."""

    def __init__(self, folder: Path, at_once: int) -> None:
        self._names = (folder / f"run-{number}" for number in count())
        self._at_once = at_once
        self._waiting = np.empty(at_once, dtype=np.int64)
        self._used = 0
        self._runs: list[DiskColumn[np.int64]] = []

    def add(self, numbers: Numbers) -> None:
        while len(numbers):
            some = numbers[: self._at_once - self._used]
            self._waiting[self._used : self._used + len(some)] = some
            self._used += len(some)
            if self._used == self._at_once:
                self._end_run()
            numbers = numbers[len(some) :]

    def in_order(self) -> Iterator[Numbers]:
        """Yield the sorted numbers in parts. A part is valid until the next one is requested."""
        self._end_run()
        self._waiting = np.empty(0, dtype=np.int64)
        while len(self._runs) > _MOST_RUNS:
            some, self._runs = self._runs[:_MOST_RUNS], self._runs[_MOST_RUNS:]
            self._runs.append(self._run(self._merged(some)))
        yield from self._merged(self._runs)

    def _end_run(self) -> None:
        waiting = self._waiting[: self._used]
        waiting.sort()
        if self._used:
            self._runs.append(self._run([waiting[: squeeze(waiting)]]))
        self._used = 0

    def _run(self, parts: Iterable[Numbers]) -> DiskColumn[np.int64]:
        run = DiskColumn(next(self._names), np.int64)
        for part in parts:
            run.append(part)
        return run

    def _merged(self, runs: list[DiskColumn[np.int64]]) -> Iterator[Numbers]:
        """Merge runs: numbers up to the least of the last numbers read of each run are complete."""
        share = self._at_once // max(len(runs), 1) + 1
        heads = [head for run in runs if (head := _Head(run, share)).numbers.size]
        while heads:
            bound = min(int(head.numbers[-1]) for head in heads)
            some = np.concatenate([head.up_to(bound) for head in heads])
            some.sort()
            yield some[: squeeze(some)]
            heads = [head for head in heads if head.numbers.size]
        for run in runs:
            run.remove()


class _Head:
    """The next numbers of a run."""

    def __init__(self, run: DiskColumn[np.int64], at_once: int) -> None:
        self._run, self._at_once, self._read = run, at_once, 0
        self.numbers = self._next()

    def up_to(self, bound: int) -> Numbers:
        """Remove and return the numbers up to `bound`."""
        end = int(np.searchsorted(self.numbers, bound, side="right"))
        taken, self.numbers = self.numbers[:end], self.numbers[end:]
        if not self.numbers.size:
            self.numbers = self._next()
        return taken

    def _next(self) -> Numbers:
        numbers = self._run.read(self._read, self._at_once)
        self._read += len(numbers)
        return numbers


MEGA: Final = 1_000_000
LEAST_FREE: Final = 4 * MEGA
"""Least memory to work with: with less, reads would become too small."""

_BLOCK, _SORTED, _TEXT, _STRETCH, _LINKS = 16, 32, 32, 64, 256  # bytes of `free` for each
_ENOUGH = 1 << 20  # larger portions are no faster


class MemoryPlan(NamedTuple):
    """Numbers of items that fit into memory together."""

    block: int  # nodes whose scores are computed together
    sorted: int  # numbers sorted together
    text: int  # bytes of a file
    stretch: int  # source nodes
    links: int  # links processed together


def memory_plan(free: int) -> MemoryPlan:
    """Distribute `free` bytes."""
    return MemoryPlan(
        block=free // _BLOCK,
        sorted=min(free // _SORTED, 16 * _ENOUGH),
        text=min(free // _TEXT, _ENOUGH),
        stretch=min(free // _STRETCH, _ENOUGH),
        links=min(free // _LINKS, _ENOUGH),
    )


def free_for(block: int) -> int:
    """Return the bytes needed for a block of this many nodes."""
    return max(block * _BLOCK, LEAST_FREE)


class NodeIds:
    """The ids that occur in links, sorted on disk: node i has the i-th of them."""

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

    def of(self, nodes: Sequence[int]) -> list[str]:
        """Return the names of these nodes, which are their ids, read from disk."""
        if self._is_dense:
            return [str(self._first + node) for node in nodes]
        wanted, places = np.unique(np.asarray(nodes, dtype=np.int64), return_inverse=True)
        found = np.empty_like(wanted)
        for first in range(0, len(self), self._at_once):
            begin, end = np.searchsorted(wanted, (first, first + self._at_once))
            if begin < end:
                some = self.column.read(first, self._at_once)
                found[begin:end] = some[wanted[begin:end] - first]
        return list(map(str, found[places].tolist()))

    def links(self, links: LinkArrays) -> LinkArrays:
        """Convert links between ids to links between nodes."""
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
    """Links between nodes on disk, by the block they lead to and the stretch they come from.

    They are written and read in the order of the cells, as offsets within stretch and block.
    """

    def __init__(self, sizes: BlockSizes, folder: Path, traffic: DiskTraffic) -> None:
        self.edges = 0
        self._sizes = sizes
        self._stretches = -(-sizes.nodes // sizes.stretch)
        self._links = DiskColumn(folder / "links", np.int32, traffic=traffic)
        self._cells, self._ends = array("q"), array("q", [0])

    def keys(self, links: LinkArrays) -> Ids:
        """Return each link as one number below (2 * nodes)^2, in the order of the file."""
        blocks, places = np.divmod(links.targets, self._sizes.block)
        return (blocks * self._sizes.nodes + links.sources) * self._sizes.block + places

    def append(self, keys: Ids) -> Iterator[tuple[int, Ids]]:
        """Write links; yield the first node and the sources of each stretch."""
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
        """Yield the links to this block, stretch after stretch."""
        first, last = (
            bisect_left(self._cells, number * self._stretches) for number in (block, block + 1)
        )
        for place in range(first, last):
            start, end = self._ends[place], self._ends[place + 1]
            ends = self._links.read(2 * start, 2 * (end - start))
            yield Piece(self._cells[place] % self._stretches, *np.split(ends, 2))


class BlockFiles:
    """The `GraphOnDisk` of `blocks`, in a folder. Its `traffic` is counted."""

    def __init__(self, nodes: int, memory: MemoryPlan, folder: Path) -> None:
        self.sizes = BlockSizes(nodes, min(memory.block, nodes), memory.stretch, memory.links)
        self.traffic = DiskTraffic()
        self.links = LinksByBlock(self.sizes, folder, self.traffic)
        self._folder, self._sorted_at_once = folder, memory.sorted
        names = ("degrees", "scores", "given", "given-next")
        self.degrees, self.scores, self.given, self.given_next = (
            DiskColumn(folder / name, np.float64, nodes, self.traffic) for name in names
        )

    def fill(self, links: Iterable[LinkArrays]) -> None:
        """Write the links between nodes in the order of the blocks."""
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
