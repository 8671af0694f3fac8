"""A rank of what is left is held against the rank of the whole."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from minicrawl.analysis.ranks import RANKS
from minicrawl.analysis.source import opened
from minicrawl.analysis.stability import Loss, Spread, Stability, stability
from minicrawl.graph.named import NamedGraph
from minicrawl.progress import Progress
from minicrawl.ranks.centrality import degree
from minicrawl.ranks.scores import Scores


def stability_of(path: Path, name: str, loss: Loss) -> Stability:
    with opened(path, path) as source:
        return stability(source, name, loss, [1], np.random.default_rng(1))


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """Ten nodes in a circle."""
    path = tmp_path / "web.txt"
    path.write_text("".join(f"{node} {(node + 1) % 10}\n" for node in range(10)))
    return path


def test_it_is_the_rank_of_the_links_that_are_left(
    ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[NamedGraph] = []

    def watched(named: NamedGraph, _tell: Progress) -> Scores:
        seen.append(named)
        return degree(named.graph)

    monkeypatch.setitem(RANKS, "watched", watched)
    found = stability_of(ring, "watched", Loss(drop=0.3, times=4))
    assert (found.nodes, found.edges, found.stay) == (10, 10, 7)
    whole, *parts = seen
    assert whole.graph.nodes == 10
    for part in parts:
        names = [int(name) for name in part.names.of(range(7))]
        links = [(names[one], names[other]) for one, other in pairs(part)]
        assert links == [(one, (one + 1) % 10) for one in names if (one + 1) % 10 in names]
    assert len({tuple(part.names.of(range(7))) for part in parts}) > 1
    assert found.kendall == Spread(None, None)  # all are alike in the whole


def pairs(named: NamedGraph) -> Iterator[tuple[int, int]]:
    yield from zip(named.graph.sources().tolist(), named.graph.targets.tolist(), strict=True)


def test_it_is_told_how_far_it_has_come(ring: Path) -> None:
    told: list[float] = []

    @contextmanager
    def progress(label: str) -> Iterator[Progress]:
        yield told.append if label == "stability" else lambda _share: None

    with opened(ring, ring, progress) as source:
        stability(source, "degree", Loss(0.5, 3), [1], np.random.default_rng(1))
    assert told[-1] == 1
    assert all(one < other for one, other in pairwise(told))


def test_a_real_graph_keeps_most_of_its_order(shared_graph: Callable[[str], Path]) -> None:
    found = stability_of(shared_graph("wiki-Vote.txt.gz"), "degree", Loss(0.3, 3))
    assert found.stay == 7115 - 2134
    assert found.kendall.mean is not None
    assert found.kendall.least is not None
    assert 0.9 < found.kendall.least <= found.kendall.mean < 1
