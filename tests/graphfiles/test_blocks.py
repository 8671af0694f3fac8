"""Links on disk are all there, each in its block, and nodes have the order of their ids."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import LinkArrays
from minicrawl.ranks.block_files import BlockFiles, MemoryPlan, NodeIds

NODES = 7
PAIRS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=40)


def room(block: int, stretch: int, portion: int) -> MemoryPlan:
    return MemoryPlan(block=block, sorted=portion, text=1, stretch=stretch, links=portion)


def portions(pairs: list[tuple[int, int]], size: int) -> Iterator[LinkArrays]:
    for first in range(0, len(pairs), size):
        sources, targets = np.array(pairs[first : first + size], dtype=np.int64).T
        yield LinkArrays(sources, targets)


@given(PAIRS, st.integers(1, NODES), st.integers(1, NODES), st.integers(1, 9))
def test_every_link_is_in_its_block_once_after_those_of_lesser_sources(
    pairs: list[tuple[int, int]], block: int, stretch: int, portion: int
) -> None:
    with TemporaryDirectory() as name:
        files = BlockFiles(NODES, room(block, stretch, portion), Path(name))
        files.fill(portions(pairs, portion))
        found = [
            (target // block, stretch * piece.stretch + source, target)
            for number in range(-(-NODES // block))
            for piece in files.pieces(number)
            for source, place in zip(piece.sources.tolist(), piece.targets.tolist(), strict=True)
            for target in [number * block + place]
        ]
        degrees = files.degrees.read(0, NODES).tolist()
    links = set(pairs)
    assert found == sorted((target // block, source, target) for source, target in links)
    assert files.links.edges == len(links)
    assert degrees == [sum(source == node for source, _ in links) for node in range(NODES)]


LARGEST = 2**63 - 1


@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [7, 8, 9, 10], [0, 5, 6, LARGEST], [3, 4, 70, 900]])
@pytest.mark.parametrize("portion", [1, 2, 3, 100])
def test_nodes_have_the_order_of_their_ids_dense_or_sparse(
    ids: list[int], portion: int, tmp_path: Path
) -> None:
    pairs = [(ids[3], ids[0]), (ids[1], ids[2]), (ids[2], ids[2]), (ids[0], ids[3])]
    known = NodeIds(portions(pairs, 2), room(1, 1, portion), tmp_path)
    assert len(known) == 4
    assert known.column.whole().tolist() == ids
    found = [known.links(links) for links in portions(pairs, 2)]
    nodes = [
        pair for links in found for pair in zip(*(end.tolist() for end in links[:2]), strict=True)
    ]
    assert nodes == [(3, 0), (1, 2), (2, 2), (0, 3)]
