"""PageRank in blocks equals PageRank of the whole graph, and stays within its memory limit."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graphfiles import read
from minicrawl.ranks.blocks.columns import DiskTraffic
from minicrawl.ranks.blocks.files import MEGA
from minicrawl.ranks.commands.pagerank_in_blocks import (
    BlockRanks,
    MemoryLimits,
    Opened,
    file_in_blocks,
    pagerank_in_blocks,
    store_in_blocks,
)
from minicrawl.report.graph.source import opened
from minicrawl.report.snapshot import snapshot
from tests.stores import filled_store

SMALL = "5 7\n7 5\n7 900\n7 900\n900 900\n"
RANDOM = np.random.default_rng(1).integers(0, 30, (90, 2)).tolist()
TEXTS = {
    SMALL: "sparse ids",
    "0 1\n1 2\n2 0\n3 3\n": "dense ids",
    f"0 {2**63 - 1}\n5 6\n6 0\n": "large ids",
    "".join(f"{one} {other}\n" for one, other in RANDOM): "many runs to merge",
    "a\tb\nb\tc\nc\ta\nb\ta\n": "names",
    "p edge 4 2\ne 1 2\ne 2 3\n": "DIMACS",
}


@pytest.fixture
def graph_file(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        path = tmp_path / "graph.txt"
        path.write_text(text)
        return path

    return written


def in_portions(path: Path, size: int | None) -> Opened:
    """Return a function that opens a graph in portions of so many numbers or links."""
    opened = file_in_blocks(path)
    if size is None:
        return opened
    return lambda memory, *rest: opened(memory._replace(sorted=size, at_once=size), *rest)


def by_name(found: BlockRanks) -> dict[str, float]:
    values = found.scores.values
    return dict(zip(found.names.of(range(len(values))), values.tolist(), strict=True))


def computed(opened: Opened, limits: MemoryLimits, **options: Any) -> BlockRanks:
    """Compute ranks, and return them when their files are gone."""
    with pagerank_in_blocks(opened, limits, **options) as found:
        return found


def in_memory(named: NamedGraph, error: float = 1e-12) -> dict[str, float]:
    graph, nodes = named.graph, named.graph.nodes
    out = graph.out_degrees()
    links = csr_array((np.ones(graph.edges), graph.targets, graph.starts), shape=(nodes, nodes)).T
    x, change = np.full(nodes, 1 / nodes), 1.0
    while change > error:
        y = 0.85 * (links @ (x / np.maximum(out, 1)) + x[out == 0].sum() / nodes) + 0.15 / nodes
        change, x = np.abs(y - x).sum(), y
    return dict(zip(named.names.of(range(nodes)), x.tolist(), strict=True))


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_each_iteration_reads_links_once_and_old_scores_once_for_each_block(
    graph_file: Callable[[str], Path], count: int
) -> None:
    """Haveliwala's cost: a link is two numbers of 4 bytes, and each column has 8 bytes a node."""
    dice = np.random.default_rng(count)
    links = sorted({(a, b) for a, b in dice.integers(0, 10, (25, 2)).tolist()} | {(0, 9), (9, 0)})
    nodes = sorted({end for link in links for end in link})
    path = graph_file("".join(f"{a} {b}\n" for a, b in links))
    found = computed(file_in_blocks(path), MemoryLimits(blocks=count))
    block = -(-len(nodes) // count)
    linked = len({nodes.index(target) // block for _, target in links})
    blocks, column = -(-len(nodes) // block), 8 * len(nodes)
    iterations = found.scores.iterations
    assert found.blocks == blocks
    assert found.traffic == DiskTraffic(
        reads=1 + iterations * (2 * linked + 2 * blocks),
        bytes_read=column + iterations * (8 * len(links) + column * linked + 2 * column),
        writes=2 + iterations * 2 * blocks,
        bytes_written=2 * column + iterations * 2 * column,
    )


@pytest.mark.parametrize(
    ("count", "portion"), [(None, None), (None, 1), (1, 2), (2, 3), (3, 1), (10, 2), (10, None)]
)
@pytest.mark.parametrize("text", TEXTS, ids=TEXTS.values())
def test_scores_are_those_of_the_whole_graph(
    text: str,
    count: int | None,
    portion: int | None,
    graph_file: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    path = graph_file(text)
    limits = MemoryLimits(blocks=count, temp=tmp_path)
    with pagerank_in_blocks(in_portions(path, portion), limits, tolerance=1e-10) as found:
        assert by_name(found) == pytest.approx(in_memory(read(path)), abs=1e-10)
        nodes = len(found.names)
        assert found.names.of([nodes - 1, 0]) == read(path).names.of([nodes - 1, 0])
        best = [node for nodes_of_batch, _ in found.best for node in nodes_of_batch]
    assert found.blocks == len(range(0, nodes, -(-nodes // (count or 1))))
    assert found.edges == read(path).graph.edges
    assert found.scores.converged
    assert best == np.argsort(-found.scores.values, kind="stable").tolist()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", [SMALL, "a\tb\nb\tc\n"])
def test_progress_counts_reading_and_ranking(text: str, graph_file: Callable[[str], Path]) -> None:
    told: list[float] = []
    computed(file_in_blocks(graph_file(text)), MemoryLimits(), tell=told.append)
    assert told == sorted(told)
    assert told[:2] == [0.2, 0.4]
    assert told[-1] == 1


def test_names_are_looked_up_on_disk_in_any_order(graph_file: Callable[[str], Path]) -> None:
    path, limits = graph_file("5 7\n9 900\n33 7\n"), MemoryLimits(blocks=2)
    with pagerank_in_blocks(in_portions(path, 2), limits) as found:
        assert found.names.of([4, 0, 2, 4]) == ["900", "5", "9", "900"]


def test_a_store_is_ranked_by_the_links_that_count(tmp_path: Path) -> None:
    path = filled_store(tmp_path / "crawl.db")
    with opened(path, None) as source:
        wanted = in_memory(source.graph)
    with snapshot(path) as seen:
        found = computed(store_in_blocks(seen), MemoryLimits(blocks=2))
        assert by_name(found) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        *(("1 2\nhello\n", "line 2"), ("", "graph.txt"), ("a\tb\nc\n", "line 2")),
        *(("1 2 5\n", "weights"), ("a\tb\t1\n", "weights")),
    ],
)
def test_a_file_that_is_no_graph_or_has_weights_is_refused(
    text: str, named: str, graph_file: Callable[[str], Path]
) -> None:
    with pytest.raises(UsageError, match=named):
        computed(file_in_blocks(graph_file(text)), MemoryLimits())


def test_a_pipe_is_refused() -> None:
    with pytest.raises(UsageError, match="give a file"):
        file_in_blocks(Path("-"))


def test_a_folder_that_cannot_take_files_is_named(
    graph_file: Callable[[str], Path], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"absent: No such file"):
        computed(file_in_blocks(graph_file(SMALL)), MemoryLimits(temp=tmp_path / "absent"))


def limited(megabytes: int, blocks: int | None = None) -> MemoryLimits:
    """Return the limit of a process that takes 30 MB."""
    return MemoryLimits(memory=megabytes * MEGA, blocks=blocks, taken=lambda: 30 * MEGA)


def test_too_little_memory_is_refused_with_the_least_that_works(
    graph_file: Callable[[str], Path],
) -> None:
    path = graph_file(SMALL)
    with pytest.raises(UsageError, match=r"^39 MB .* 41 MB"):
        computed(file_in_blocks(path), limited(39))
    assert computed(file_in_blocks(path), limited(41)).blocks == 1


@pytest.mark.slow
def test_blocks_that_are_too_large_for_the_memory_are_refused(
    graph_file: Callable[[str], Path],
) -> None:
    path = graph_file("".join(f"{node} {node + 1}\n" for node in range(300_000)))
    with pytest.raises(UsageError, match=r"40 MB .* 1 block: .* 42 MB"):
        computed(file_in_blocks(path), limited(40, 1), tolerance=1)
    for megabytes, count, wanted in ((40, None, 2), (40, 2, 2), (42, 1, 1)):
        limits = limited(megabytes, count)
        assert computed(file_in_blocks(path), limits, tolerance=1).blocks == wanted


CHILD = """
import sys
from pathlib import Path
from minicrawl.ranks.commands.pagerank_in_blocks import *
from minicrawl.memory.measures import resident_bytes
limit = resident_bytes() + int(sys.argv[2])
limits = MemoryLimits(memory=limit)
opened = file_in_blocks(Path(sys.argv[1]))
with pagerank_in_blocks(opened, limits, tolerance=0.1, shown=1_000_000) as found:
    for nodes, _ in found.best:
        found.names.of(nodes.tolist())
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(found.blocks, found.edges, limit - int(peak.split()[1]) * 1024)
"""


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux reports the peak")
def test_the_peak_of_the_process_stays_within_the_limit(tmp_path: Path) -> None:
    """The graph takes more memory than the limit leaves, and all nodes are shown."""
    path, nodes, room = tmp_path / "graph.txt", 500_000, 13 * MEGA
    rng = np.random.default_rng(1)
    with path.open("w") as file:
        for targets in (rng.permutation(nodes), rng.integers(0, nodes, nodes)):
            file.writelines(f"{node} {target}\n" for node, target in enumerate(targets.tolist()))
    child = [sys.executable, "-c", CHILD, str(path), str(room)]
    done = subprocess.run(child, capture_output=True, text=True, check=True)
    count, edges, left = map(int, done.stdout.split())
    assert count > 1
    assert 1.9 * nodes < edges <= 2 * nodes
    assert left >= 0
