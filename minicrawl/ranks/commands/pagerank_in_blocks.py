"""PageRank of a graph that exceeds the memory, with all links on disk.

The process, including interpreter and libraries, stays within the limit; a limit that is too
small is refused with the least limit that works. The limit is for resident memory, without the
file cache of the system. The best nodes come in batches, however many are requested. All scores
together are a memory-mapped file: they are in memory only while they are saved beside a store.

Links between ids take no memory per node. Names of nodes are kept in memory, and so are the
columns of a store.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.link_builder import LinkArrays
from minicrawl.graph.lists.edge_lists import NumericNames
from minicrawl.graph.lists.formats import LinkStream
from minicrawl.graph.named_graph import Names
from minicrawl.graphfiles import PIPE, Texts, blocks
from minicrawl.memory.allocator import mmap_large_arrays
from minicrawl.memory.measures import resident_bytes
from minicrawl.own_files import scratch
from minicrawl.ports import Progress, part, unreported
from minicrawl.ranks.blocks import pagerank as block_ranks
from minicrawl.ranks.blocks.columns import DiskTraffic
from minicrawl.ranks.blocks.files import (
    LEAST_FREE,
    MEGA,
    BlockFiles,
    MemoryPlan,
    NodeIds,
    free_for,
    memory_plan,
)
from minicrawl.ranks.blocks.pagerank import Best
from minicrawl.ranks.scores import Scores
from minicrawl.report.graph.flows import flows
from minicrawl.report.graph.source import Urls, refuse_unrankable
from minicrawl.report.snapshot import Snapshot
from minicrawl.wording import counted

_SMALL = 3 * MEGA  # memory for small objects during the run
_RESERVE = 2 * _SMALL  # small objects, and memory that the first read does not return
_USUAL_FREE = 256 * MEGA
_READ_ONCE, _READ_TWICE = 0.2, 0.4  # approximate shares of the whole work


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """Memory limit of the process in bytes, and number of blocks, by default as few as fit."""

    memory: int | None = None
    blocks: int | None = None
    temp: Path | None = None
    taken: Callable[[], int] = resident_bytes
    """Function that returns the bytes that the process takes now."""


NodeNames = NodeIds | Names
"""Names of nodes, looked up in batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRanks:
    """Scores with the names of their nodes."""

    scores: Scores
    names: NodeNames
    edges: int
    blocks: int
    best: Iterator[Best]
    traffic: DiskTraffic
    """Disk traffic of the iterations, without that of writing the blocks."""


Streamed = tuple[NodeNames, Callable[[Progress], Iterable[LinkArrays]]]
"""Names of a graph, and its links, which can be streamed as often as needed."""
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
    """Compute PageRank in blocks; yield it with the `shown` best nodes.

    The block files exist until the context ends.
    """
    mmap_large_arrays()
    with ExitStack() as files_there:
        try:
            folder = files_there.enter_context(scratch("blocks", limits.temp))
            free = _free(limits, _RESERVE)
            names, links = opened(memory_plan(free), folder, part(tell, 0, _READ_ONCE))
            free = min(free, _free(limits, _SMALL))
            memory = memory_plan(free)
            if limits.blocks is not None:
                memory = memory._replace(block=-(-len(names) // limits.blocks))
                if limits.memory is not None and free_for(memory.block) > free:
                    in_blocks = f" in {counted(limits.blocks, 'block')}"
                    raise _too_little(limits, free_for(memory.block), in_blocks)
            files = BlockFiles(len(names), memory, folder)
            files.fill(links(part(tell, _READ_ONCE, _READ_TWICE)))
            laid_out = replace(files.traffic)
            scores = block_ranks.pagerank(
                files, damping=damping, tolerance=tolerance, tell=part(tell, _READ_TWICE, 1)
            )
        except OSError as error:
            place = limits.temp or "the folder for temporary files"
            raise UsageError(f"{place}: {error.strerror}; choose one with --temp") from error
        yield BlockRanks(
            scores=scores,
            names=names,
            edges=files.links.edges,
            blocks=files.blocks,
            best=block_ranks.best(files, shown),
            traffic=files.traffic.since(laid_out),
        )


def file_in_blocks(path: Path) -> Opened:
    """Return a function that opens the graph in a file, which is read twice."""
    if str(path) == PIPE:
        raise UsageError(
            "a graph in blocks is read twice, so it cannot come from a pipe: give a file"
        )

    def opened(memory: MemoryPlan, folder: Path, tell: Progress) -> Streamed:
        def links(tell: Progress) -> LinkStream:
            return LinkStream(blocks(path, tell, memory.text), str(path))

        def unweighted() -> Iterator[LinkArrays]:
            for block in first:
                if block.weights is not None:
                    raise UsageError(
                        f"{path}: --blocks and --memory do not support weights of links"
                    )
                yield block

        first = links(tell)
        if first.names is None:
            ids = NodeIds(unweighted(), memory, folder)
            return ids, lambda tell: map(ids.links, links(tell))
        for _ in unweighted():
            pass
        names = first.names
        called = (
            NumericNames(np.arange(names.start, names.stop))
            if isinstance(names, range)
            else Texts(names)
        )
        return called, links

    return opened


def store_in_blocks(snapshot: Snapshot) -> Opened:
    refuse_unrankable(snapshot)
    return lambda _memory, _folder, _tell: (
        Urls(snapshot),
        lambda _tell: (LinkArrays(flow.givers, flow.ends) for flow in flows(snapshot)),
    )


def _free(limits: MemoryLimits, reserve: int) -> int:
    """Return how many more bytes of memory may be used."""
    if limits.memory is None:
        return _USUAL_FREE
    free = limits.memory - limits.taken() - reserve
    if free < LEAST_FREE:
        raise _too_little(limits, LEAST_FREE)
    return free


def _too_little(limits: MemoryLimits, free: int, how: str = "") -> UsageError:
    least, memory = -(-(limits.taken() + _RESERVE + free) // MEGA) + 1, limits.memory or 0
    return UsageError(f"{memory / MEGA:g} MB are too little for this graph{how}: use {least} MB")
