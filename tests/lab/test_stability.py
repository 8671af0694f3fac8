"""Stability: ranks of random parts of a graph against the rank of the whole graph."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from minicrawl.graph.csr import NamedGraph
from minicrawl.lab.commands.rank_quality import (
    Placed,
    Spread,
    Stability,
    stability_of,
)
from minicrawl.ports import Progress
from minicrawl.ranks.centrality import degree
from minicrawl.ranks.commands.named_ranks import RANKS, Rank
from minicrawl.ranks.scores import Scores
from minicrawl.report.store_graph import Source, opened
from tests.graph.graphs import links_of


def measured(path: Path, rank: Rank, *, drop: float, times: int) -> Stability:
    with opened(path, path) as source:
        return of_source(source, rank, drop=drop, times=times)


def of_source(source: Source, rank: Rank, *, drop: float, times: int) -> Stability:
    return stability_of(
        source.graph,
        rank,
        drop=drop,
        times=times,
        ks=[1],
        shown=3,
        rng=np.random.default_rng(1),
        progress=source.progress,
    )


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """Write a cycle of ten nodes."""
    path = tmp_path / "web.txt"
    path.write_text("".join(f"{node} {(node + 1) % 10}\n" for node in range(10)))
    return path


def test_each_run_ranks_the_remaining_nodes_and_links(ring: Path) -> None:
    seen: list[NamedGraph] = []

    def watched(named: NamedGraph, _tell: Progress) -> Scores:
        seen.append(named)
        return degree(named.graph)

    found = measured(ring, watched, drop=0.3, times=4)
    assert (found.nodes, found.edges, found.stay) == (10, 10, 7)
    whole, *parts = seen
    assert whole.graph.nodes == 10
    for part in parts:
        names = [int(name) for name in part.names.of(range(7))]
        links = [(names[one], names[other]) for one, other in links_of(part.graph)]
        assert links == [(one, (one + 1) % 10) for one in names if (one + 1) % 10 in names]
    assert len({tuple(part.names.of(range(7))) for part in parts}) > 1
    assert found.kendall == Spread(None, None)  # all nodes of the whole are equal


def test_the_best_nodes_have_a_place_in_each_run_with_them(ring: Path) -> None:
    """Node 0 is the best of the whole, then 3 and 6; of a part the largest name is the best."""
    stayed: list[list[str]] = []

    def by_name(named: NamedGraph, _tell: Progress) -> Scores:
        names = named.names.of(range(named.graph.nodes))
        stayed.append(names)
        values = [worth(int(name), is_whole=len(names) == 10) for name in names]
        return Scores(values=np.array(values), iterations=0, error_bound=0.0, converged=True)

    def worth(name: int, *, is_whole: bool) -> float:
        return -float(name % 3) - name / 100 if is_whole else float(name)

    found = measured(ring, by_name, drop=0.3, times=4)
    runs = [sorted(map(int, names), reverse=True) for names in stayed[1:]]
    assert found.best == tuple(
        Placed(
            str(name), place, tuple(run.index(name) + 1 if name in run else None for run in runs)
        )
        for place, name in enumerate([0, 3, 6], start=1)
    )
    assert any(None in placed.in_runs for placed in found.best)


def test_progress_rises_to_1(ring: Path) -> None:
    told: list[float] = []

    @contextmanager
    def progress(label: str) -> Iterator[Progress]:
        yield told.append if label == "stability" else lambda _share: None

    with opened(ring, ring, progress) as source:
        of_source(source, RANKS["degree"], drop=0.5, times=3)
    assert told[-1] == 1
    assert all(one < other for one, other in pairwise(told))


def test_a_real_graph_keeps_most_of_its_order(shared_graph: Callable[[str], Path]) -> None:
    found = measured(shared_graph("wiki-Vote.txt.gz"), RANKS["degree"], drop=0.3, times=3)
    assert found.stay == 7115 - 2134
    assert found.kendall.mean is not None
    assert found.kendall.least is not None
    assert 0.9 < found.kendall.least <= found.kendall.mean < 1
