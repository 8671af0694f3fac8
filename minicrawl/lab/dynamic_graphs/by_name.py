"""The algorithms by name and by number.

Algorithms of one kind give equal answers after every edge, or after every batch if they take
edges in batches.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from minicrawl.graph.csr import Edge
from minicrawl.graph.growing import A2, Levels
from minicrawl.lab.dynamic_graphs.one_matrix import A1, A3, A4, A1Loops
from minicrawl.lab.dynamic_graphs.reachability import BLOCKS, S1, S2, S3, Yellin
from minicrawl.lab.dynamic_graphs.recomputed import (
    FloydWarshall,
    Johnson,
    Tarjan,
    WarshallComponents,
)
from minicrawl.lab.dynamic_graphs.shortest_path_trees import AusielloTrees


class AlgorithmKind(StrEnum):
    """Kind of answer that an algorithm gives."""

    DISTANCES = "distances"
    COMPONENTS = "components"


@dataclass(frozen=True, slots=True)
class DynamicAlgorithm:
    """A named algorithm. `make(nodes)` starts it on a graph without edges.

    `in_batches`: takes many edges at a time instead of one. `is_recomputed`: does its work when the
    answer is requested.
    """

    name: str
    kind: AlgorithmKind
    make: Callable[[int], Any]
    in_batches: bool = False
    is_recomputed: bool = False

    def insert(self, state: Any, edges: Iterable[Edge]) -> None:
        """Add edges and make sure that the answer is computed."""
        if hasattr(state, "add_all"):
            state.add_all(edges)
        else:
            for source, target in edges:
                state.add(source, target)
        if self.is_recomputed:
            self.answer(state)

    def answer(self, state: Any) -> Any:
        """Return all distances, or the component of each node."""
        return getattr(state, self.kind.value)


def _distances(
    name: str, make: Callable[[int], Any], *, batches: bool = False, recomputed: bool = False
) -> DynamicAlgorithm:
    return DynamicAlgorithm(name, AlgorithmKind.DISTANCES, make, batches, recomputed)


def _components(
    name: str, make: Callable[[int], Any], *, batches: bool = False, recomputed: bool = False
) -> DynamicAlgorithm:
    return DynamicAlgorithm(name, AlgorithmKind.COMPONENTS, make, batches, recomputed)


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        _distances("floyd-warshall", FloydWarshall, recomputed=True),
        _distances("johnson", Johnson, recomputed=True),
        _distances("ausiello", AusielloTrees),
        _distances("a1", A1),
        _distances("a2", A2),
        _distances("floyd-warshall-batch", FloydWarshall, batches=True, recomputed=True),
        _distances("johnson-batch", Johnson, batches=True, recomputed=True),
        _distances("a3", A3, batches=True),
        _distances("a4", A4, batches=True),
        _components("warshall", WarshallComponents, recomputed=True),
        _components("tarjan", Tarjan, recomputed=True),
        _components("yellin", Yellin),
        *(_components(f"s1-{bits}", partial(S1, bits=bits)) for bits in BLOCKS),
        _components("s2", S2),
        _components("s3", S3),
        _components("levels", Levels),
        _components("tarjan-batch", Tarjan, batches=True, recomputed=True),
        _distances("a1-loops", A1Loops),
    )
}
"""Algorithms by name, in the order of their numbers from 1."""


def algorithm(name: str) -> DynamicAlgorithm:
    """Return the algorithm with this name or number; KeyError if there is none."""
    by_number = {str(number): entry for number, entry in enumerate(ALGORITHMS.values(), 1)}
    return by_number.get(name) or ALGORITHMS[name]
