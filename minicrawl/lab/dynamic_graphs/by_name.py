"""The algorithms by name and by number.

Algorithms of one kind give equal answers after every edge, or after every batch if they take
edges in batches.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from minicrawl.graph.all_distances import A2
from minicrawl.graph.csr import Edge
from minicrawl.graph.growing_components import Levels
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
    """Answer of an algorithm, and the attribute of its state that has it."""

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


_DISTANCES, _COMPONENTS = AlgorithmKind.DISTANCES, AlgorithmKind.COMPONENTS
ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        DynamicAlgorithm("floyd-warshall", _DISTANCES, FloydWarshall, is_recomputed=True),
        DynamicAlgorithm("johnson", _DISTANCES, Johnson, is_recomputed=True),
        DynamicAlgorithm("ausiello", _DISTANCES, AusielloTrees),
        DynamicAlgorithm("a1", _DISTANCES, A1),
        DynamicAlgorithm("a2", _DISTANCES, A2),
        DynamicAlgorithm(
            "floyd-warshall-batch", _DISTANCES, FloydWarshall, in_batches=True, is_recomputed=True
        ),
        DynamicAlgorithm("johnson-batch", _DISTANCES, Johnson, in_batches=True, is_recomputed=True),
        DynamicAlgorithm("a3", _DISTANCES, A3, in_batches=True),
        DynamicAlgorithm("a4", _DISTANCES, A4, in_batches=True),
        DynamicAlgorithm("warshall", _COMPONENTS, WarshallComponents, is_recomputed=True),
        DynamicAlgorithm("tarjan", _COMPONENTS, Tarjan, is_recomputed=True),
        DynamicAlgorithm("yellin", _COMPONENTS, Yellin),
        *(DynamicAlgorithm(f"s1-{bits}", _COMPONENTS, partial(S1, bits=bits)) for bits in BLOCKS),
        DynamicAlgorithm("s2", _COMPONENTS, S2),
        DynamicAlgorithm("s3", _COMPONENTS, S3),
        DynamicAlgorithm("levels", _COMPONENTS, Levels),
        DynamicAlgorithm("tarjan-batch", _COMPONENTS, Tarjan, in_batches=True, is_recomputed=True),
        DynamicAlgorithm("a1-loops", _DISTANCES, A1Loops),
    )
}
"""Algorithms by name, in the order of their numbers from 1."""


def algorithm(name: str) -> DynamicAlgorithm:
    """Return the algorithm with this name or number; KeyError if there is none."""
    by_number = {str(number): entry for number, entry in enumerate(ALGORITHMS.values(), 1)}
    return by_number.get(name) or ALGORITHMS[name]
