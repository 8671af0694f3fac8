"""PageRank of a graph that exceeds the memory, within a memory limit for the whole process.

The process, including interpreter and libraries, stays within the limit; a limit that is too small
is refused with the least one that works. Counted is the resident memory, but not what the system
caches of files. The best nodes come in batches, however many are requested. The scores as a whole
are a memory-mapped file: they are in memory only when a store saves them.

A list of links between ids takes no memory for a node; names of nodes are kept in memory, as are
the columns of a store.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.export.drafts import scratch
from minicrawl.graph.csr import LinkArrays
from minicrawl.graph.formats import LinkStream
from minicrawl.graph.text import Ids
from minicrawl.graphfiles.reading import PIPE, Texts, blocks
from minicrawl.memory import mmap_large_arrays, resident_bytes
from minicrawl.progress import Progress, part, unreported
from minicrawl.ranks.block_files import (
    LEAST_FREE,
    MEGA,
    BlockFiles,
    DiskTraffic,
    MemoryPlan,
    NodeIds,
    free_for,
    memory_plan,
)
from minicrawl.ranks.blocks import Best, best, pagerank
from minicrawl.ranks.scores import Scores
from minicrawl.report.flows import flows
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.source import Urls, check_links

_SMALL = 3 * MEGA  # memory for small objects during the run
_RESERVE = 2 * _SMALL  # these, and what a first reading leaves behind
_USUAL_FREE = 256 * MEGA
_READ_ONCE, _READ_TWICE = 0.2, 0.4  # approximate shares of the whole work


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """Memory limit of the process in bytes; the number of blocks follows from it by default."""

    memory: int | None = None
    blocks: int | None = None
    temp: Path | None = None


class NodeNames(Protocol):
    """Names of nodes, looked up in batches."""

    def __len__(self) -> int:
        """Return the number of nodes."""

    def of(self, nodes: Sequence[int]) -> list[str]:
        """Return the names of these nodes, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRanks:
    """Scores with the names of their nodes."""

    scores: Scores
    names: NodeNames
    edges: int
    blocks: int
    best: Iterator[Best]
    """The best nodes, in batches."""
    traffic: DiskTraffic
    """Disk traffic of the iterations, without laying out the blocks."""


class Streamed(NamedTuple):
    """A graph whose links can be streamed as often as needed."""

    names: NodeNames
    links: Callable[[Progress], Iterable[LinkArrays]]


Opened = Callable[[MemoryPlan, Path, Progress], Streamed]
"""Prepares a graph for streaming; its files on disk go to the folder."""


@contextmanager
def pagerank_in_blocks(
    opened: Opened,
    limits: MemoryLimits,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-8,
    shown: int = 100,
    tell: Progress = unreported,
) -> Iterator[BlockRanks]:
    """Yield PageRank as defined in `blocks`, and the `shown` best nodes.

    The files exist until the context ends.
    """
    mmap_large_arrays()
    with ExitStack() as files_there:
        with _naming_folder(limits.temp):
            folder = files_there.enter_context(scratch("blocks", limits.temp))
            free = _free(limits, _RESERVE)
            graph = opened(memory_plan(free), folder, part(tell, 0, _READ_ONCE))
            memory = _memory_plan(limits, min(free, _free(limits, _SMALL)), len(graph.names))
            files = BlockFiles(len(graph.names), memory, folder)
            files.fill(graph.links(part(tell, _READ_ONCE, _READ_TWICE)))
            laid_out = replace(files.traffic)
            found = pagerank(
                files, damping=damping, tolerance=tolerance, tell=part(tell, _READ_TWICE, 1)
            )
        yield BlockRanks(
            scores=Scores(values=files.scores.whole(), **found._asdict()),
            names=graph.names,
            edges=files.links.edges,
            blocks=files.sizes.blocks,
            best=best(files, shown),
            traffic=files.traffic.since(laid_out),
        )


def file_in_blocks(path: Path) -> Opened:
    """Return an opener for the graph in a file, which is read twice."""
    if str(path) == PIPE:
        raise UsageError(
            "a graph in blocks is read twice, so it cannot come from a pipe: give a file"
        )

    def opened(memory: MemoryPlan, folder: Path, tell: Progress) -> Streamed:
        def links(tell: Progress) -> LinkStream:
            return LinkStream(blocks(path, tell, memory.text), str(path))

        first = links(tell)
        if first.names is None:
            ids = NodeIds(_unweighted(first, path), memory, folder)
            return Streamed(ids, lambda tell: map(ids.links, links(tell)))
        for _ in _unweighted(first, path):
            pass
        names = first.names
        called = (
            Ids(np.arange(names.start, names.stop)) if isinstance(names, range) else Texts(names)
        )
        return Streamed(called, links)

    return opened


def store_in_blocks(seen: Snapshot) -> Opened:
    """Return an opener for the links of a store."""
    check_links(seen)
    return lambda _memory, _folder, _tell: Streamed(
        Urls(seen), lambda _tell: (LinkArrays(found.givers, found.ends) for found in flows(seen))
    )


def _unweighted(links: Iterable[LinkArrays], path: Path) -> Iterator[LinkArrays]:
    for some in links:
        if some.weights is not None:
            raise UsageError(f"{path}: its links have weights, which blocks do not support")
        yield some


@contextmanager
def _naming_folder(parent: Path | None) -> Iterator[None]:
    """Add the name of the folder to errors about its files."""
    try:
        yield
    except OSError as error:
        place = parent or "the folder for temporary files"
        raise UsageError(f"{place}: {error.strerror}; choose one with --temp") from error


def _free(limits: MemoryLimits, reserve: int) -> int:
    """Return how much more memory may be used."""
    if limits.memory is None:
        return _USUAL_FREE
    free = limits.memory - resident_bytes() - reserve
    if free < LEAST_FREE:
        raise _too_little(limits.memory, LEAST_FREE)
    return free


def _memory_plan(limits: MemoryLimits, free: int, nodes: int) -> MemoryPlan:
    count = limits.blocks
    if count is None:
        return memory_plan(free)
    wanted = -(-nodes // count)
    if limits.memory is not None and free_for(wanted) > free:
        raise _too_little(limits.memory, free_for(wanted), f" in {count} blocks")
    return memory_plan(free)._replace(block=wanted)


def _too_little(memory: int, free: int, how: str = "") -> UsageError:
    least = -(-(resident_bytes() + _RESERVE + free) // MEGA) + 1
    return UsageError(f"{memory / MEGA:g} MB are too little for this graph{how}: {least} MB work")
