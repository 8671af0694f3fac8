"""PageRank of a graph that exceeds the memory, in files (Haveliwala, 1999).

This is the power method (`scores`) with uniformly spread dangling mass. Each iteration computes

    y(t) = (1 - d + d * dangling) / n + sum of g(s) over the links s -> t,  g(s) = d * x(s) / out(s)

d         damping, which is the contraction
dangling  the sum of x over nodes without links
block     consecutive nodes whose y is computed together; memory holds y of one block only
stretch   consecutive nodes whose g is read together
cell      a block and a stretch, as one number: the links between them are read together

A sum over the links in any order would jump through g and y, which are larger than the memory. So
the links are sorted once by block of their target, then by source. Then each iteration reads them
from front to back, block after block; it reads g one stretch at a time, and writes y once.

Example: links 0->2, 1->2, 2->3, 3->0, 3->1, blocks and stretches of 2 nodes, d = .8. The file has

    block 0, stretch 1:  3->0  3->1        as offsets in stretch and block:  1->0  1->1
    block 1, stretch 0:  0->2  1->2                                          0->0  1->0
    block 1, stretch 1:  2->3                                                0->1

All x are .25 at first, so g = .2 .2 .2 .1, and the base (1 - d) / n is .05.

    block 0  y = .05 .05; stretch 1 has g = .2 .1; both links add .1:            y = .15 .15
    block 1  y = .05 .05; stretch 0 has g = .2 .2, and node 2 gets both;
             stretch 1 has g = .2 .1, and node 3 gets .2:                        y = .45 .25

y sums to 1, and |y - x| is .4, so the bound of the error is .4 * .8 / .2 = 1.6. 85 iterations
later it is below 1e-8, and the scores are .1762 .1762 .3320 .3156.

An iteration reads 8 bytes per link, and per node 8 bytes of g for each block and 16 of out and x;
it writes 16 bytes per node. Memory holds a few numbers for each cell, and none for a node or a link
outside the current block. The arrays in use take at most `free` bytes: each share of `MemoryPlan`
is an upper bound for its items, copies included. Files are open only while they are read or
written.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import count, pairwise
from math import inf
from operator import sub
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Ids, LinkArrays, Vector, squeeze
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.scores import PowerMethod, Scores, rounding_floor

Places = NDArray[np.int32]

# ================================================================ columns

Number = TypeVar("Number", np.int32, np.int64, np.float64)


@dataclass(slots=True)
class DiskTraffic:
    """Reads and writes of files, and their bytes."""

    reads: int = 0
    bytes_read: int = 0
    writes: int = 0
    bytes_written: int = 0

    def since(self, before: "DiskTraffic") -> "DiskTraffic":
        """Return the traffic since an earlier copy."""
        return DiskTraffic(*map(sub, astuple(self), astuple(before)))


class DiskColumn(Generic[Number]):
    """Numbers in a file, at first `count` zeros. `traffic` counts the reads and writes."""

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


# ================================================================ sorting
#
# A run is a column of sorted numbers, as many as fit into memory. Runs are merged, in rounds if
# there are many.

Numbers = NDArray[np.int64]

_MOST_RUNS = 64
"""Most runs merged at a time: with more, each read would be too small."""


class Sorter:
    """External sort of non-negative integers, without duplicates; for a single use.

    Memory never holds more than twice `at_once` numbers.
    """

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
        """Merge runs, and delete them."""
        share = self._at_once // max(len(runs), 1) + 1
        heads = [head for run in runs if (head := _Head(run, share)).numbers.size]
        while heads:
            # No unread number of a run is below the last number read of it. So up to the least of
            # these last numbers, nothing is missing.
            bound = min(int(head.numbers[-1]) for head in heads)
            some = np.concatenate([head.up_to(bound) for head in heads])
            some.sort()
            yield some[: squeeze(some)]
            heads = [head for head in heads if head.numbers.size]
        for run in runs:
            run.remove()


class _Head:
    """The next numbers of a run, read in portions."""

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


# ================================================================ memory

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
    links: int  # links processed together


def memory_plan(free: int) -> MemoryPlan:
    """Divide `free` bytes among the items."""
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


# ================================================================ files


class LinkPiece(NamedTuple):
    """Links of a cell, as offsets within its stretch and its block."""

    stretch: int
    sources: Places
    targets: Places


class BlockSizes(NamedTuple):
    """Number of nodes, and sizes of the parts that are processed together."""

    nodes: int
    block: int
    stretch: int
    at_once: int  # nodes whose scores are updated together

    @property
    def blocks(self) -> int:
        return -(-self.nodes // self.block)


class NodeIds:
    """The ids that occur in links, sorted on disk: node i has the i-th id."""

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
        """Return the ids of these nodes as names."""
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
    """Links between nodes on disk, sorted by cell, as offsets within stretch and block."""

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
        """Write sorted links; yield the first node and the sources (as offsets) of each cell."""
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

    def pieces(self, block: int) -> Iterator[LinkPiece]:
        """Yield the links to this block, stretch by stretch."""
        first, last = (
            bisect_left(self._cells, number * self._stretches) for number in (block, block + 1)
        )
        for place in range(first, last):
            start, end = self._ends[place], self._ends[place + 1]
            ends = self._links.read(2 * start, 2 * (end - start))
            yield LinkPiece(self._cells[place] % self._stretches, *np.split(ends, 2))


class BlockFiles:
    """Links and columns of a graph in a folder. `traffic` counts the reads and writes."""

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
                    # Degrees are counted as links are written, stretch by stretch: an array of all
                    # nodes may not fit into memory.
                    counts = np.bincount(sources)
                    self.degrees.write(node, self.degrees.read(node, len(counts)) + counts)

    def turn(self) -> None:
        """Start the next iteration: swap the columns `given` and `given_next`."""
        self.given, self.given_next = self.given_next, self.given


# ================================================================ PageRank


def pagerank(
    files: BlockFiles,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-8,
    most_iterations: int = 1000,
    tell: Progress = unreported,
) -> Scores:
    """Return the scores of all nodes, mapped into memory from their file."""
    sizes = files.sizes
    dangling = 0.0
    for first in range(0, sizes.nodes, sizes.at_once):
        equal = np.full(min(sizes.at_once, sizes.nodes - first), 1 / sizes.nodes)
        files.scores.write(first, equal)
        dangling += _pass_on(files, first, equal, damping)
    files.turn()

    def step() -> float:
        nonlocal dangling
        base = (1 - damping + damping * dangling) / sizes.nodes
        change = dangling = 0.0
        for block in range(sizes.blocks):
            inflow = _inflow(files, block, base)
            for place in range(0, len(inflow), sizes.at_once):
                first, new = block * sizes.block + place, inflow[place : place + sizes.at_once]
                change += float(np.abs(new - files.scores.read(first, len(new))).sum())
                files.scores.write(first, new)
                dangling += _pass_on(files, first, new, damping)
        files.turn()
        return change

    method = PowerMethod(
        contraction=damping,
        tolerance=tolerance,
        most_iterations=most_iterations,
        floor=rounding_floor(damping, np.dtype(np.float64)),
    )
    iterations, (bound,) = method.run(step, tell)
    return Scores.within(files.scores.whole(), iterations, bound, tolerance)


def _inflow(files: BlockFiles, block: int, base: float) -> Vector:
    """Return the inflow of the nodes of a block."""
    sizes = files.sizes
    inflow = np.full(min(sizes.block, sizes.nodes - block * sizes.block), base)
    stretch, given = -1, np.empty(0)
    for piece in files.links.pieces(block):
        if piece.stretch != stretch:
            stretch = piece.stretch
            given = files.given.read(stretch * sizes.stretch, sizes.stretch)
        np.add.at(inflow, piece.targets, given[piece.sources])
    return inflow


def _pass_on(files: BlockFiles, first: int, scores: Vector, damping: float) -> float:
    """Write what nodes pass on along each link; return the sum of the dangling scores."""
    degrees = files.degrees.read(first, len(scores))
    files.given_next.write(first, damping * scores / np.maximum(degrees, 1))
    return float(scores[degrees == 0].sum())


class BestOfBlocks(NamedTuple):
    """Best nodes and their scores, in descending order; ties go to the first node."""

    nodes: NDArray[np.int64]
    scores: Vector


def best(files: BlockFiles, count: int) -> Iterator[BestOfBlocks]:
    """Yield the `count` best nodes in batches. Each batch reads all scores, but keeps few."""
    left, last_node, last_score = min(count, files.sizes.nodes), -1, inf
    while left:
        some = _best_after(files, min(left, files.sizes.at_once), last_node, last_score)
        left, last_node, last_score = left - len(some.nodes), some.nodes[-1], some.scores[-1]
        yield some


def _best_after(files: BlockFiles, count: int, last_node: int, last_score: float) -> BestOfBlocks:
    """Return the batch after this last node and its score."""
    nodes, scores = np.empty(0, dtype=np.int64), np.empty(0)
    for first in range(0, files.sizes.nodes, files.sizes.at_once):
        some = files.scores.read(first, files.sizes.at_once)
        is_later_tie = (some == last_score) & (np.arange(len(some)) > last_node - first)
        is_next = (some < last_score) | is_later_tie
        nodes = np.concatenate((nodes, first + np.flatnonzero(is_next)))
        scores = np.concatenate((scores, some[is_next]))
        # A stable sort keeps ties in the order of the nodes, also across parts.
        order = np.argsort(-scores, kind="stable")[:count]
        nodes, scores = nodes[order], scores[order]
    return BestOfBlocks(nodes, scores)
