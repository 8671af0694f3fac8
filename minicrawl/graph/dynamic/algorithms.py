"""The algorithms by name and by number.

Law: algorithms of one kind give equal answers after every edge, or after every batch for those that
take edges in batches."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from minicrawl.graph.dynamic.closure import BLOCKS, S1, S2, S3, Yellin
from minicrawl.graph.dynamic.levels import Levels
from minicrawl.graph.dynamic.matrices import A1, A2, A3, A4, A1Loops, Edge
from minicrawl.graph.dynamic.recomputed import FloydWarshall, Johnson, Tarjan, WarshallComponents
from minicrawl.graph.dynamic.trees import AusielloTrees


class AlgorithmKind(StrEnum):
    """What an algorithm answers."""

    DISTANCES = "distances"
    COMPONENTS = "components"


@dataclass(frozen=True, slots=True)
class DynamicAlgorithm:
    """One algorithm. `make(nodes)` starts it on a graph without edges.

    `in_batches`: edges are given to it many at a time; else one by one. `is_recomputed`: it does
    its work when it is asked for the answer.
    """

    name: str
    kind: AlgorithmKind
    make: Callable[[int], Any]
    about: str
    in_batches: bool = False
    is_recomputed: bool = False

    def insert(self, state: Any, edges: Iterable[Edge]) -> None:
        """These edges are there from now on, and the answer is known."""
        if hasattr(state, "add_all"):
            state.add_all(edges)
        else:
            for source, target in edges:
                state.add(source, target)
        if self.is_recomputed:
            self.answer(state)

    def answer(self, state: Any) -> Any:
        """All distances, or the component of each page."""
        return getattr(state, self.kind.value)


def _distances(
    name: str, make: Callable[[int], Any], about: str, *, batches: bool = False, anew: bool = False
) -> DynamicAlgorithm:
    return DynamicAlgorithm(name, AlgorithmKind.DISTANCES, make, about, batches, anew)


def _components(
    name: str, make: Callable[[int], Any], about: str, *, batches: bool = False, anew: bool = False
) -> DynamicAlgorithm:
    return DynamicAlgorithm(name, AlgorithmKind.COMPONENTS, make, about, batches, anew)


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        _distances("floyd-warshall", FloydWarshall, "all anew after each edge, O(n^3)", anew=True),
        _distances("johnson", Johnson, "all anew after each edge, O(n m log n)", anew=True),
        _distances("ausiello", AusielloTrees, "trees of shortest paths (1991)"),
        _distances("a1", A1, "one matrix, all pairs by way of the edge, O(n^2)"),
        _distances("a2", A2, "one matrix, only the pairs that can fall"),
        _distances(
            "floyd-warshall-batch", FloydWarshall, "anew after each batch", batches=True, anew=True
        ),
        _distances("johnson-batch", Johnson, "anew after each batch", batches=True, anew=True),
        _distances("a3", A3, "a1, the edges of a source together", batches=True),
        _distances("a4", A4, "a2, the edges of a source together", batches=True),
        _components("warshall", WarshallComponents, "all anew after each edge, O(n^3)", anew=True),
        _components("tarjan", Tarjan, "all anew after each edge, O(n + m)", anew=True),
        _components("yellin", Yellin, "rows merged along the edges (1993)"),
        *(
            _components(f"s1-{bits}", partial(S1, bits=bits), f"rows in blocks of {bits} bits")
            for bits in BLOCKS
        ),
        _components("s2", S2, "s1 of 64 bits, only what changes"),
        _components("s3", S3, "s2, one row for a component"),
        _components("levels", Levels, "search both ways inside levels (2016), for sparse graphs"),
        _components("tarjan-batch", Tarjan, "anew after each batch", batches=True, anew=True),
        _distances("a1-loops", A1Loops, "a1 in loops of Python, to compare with ausiello"),
    )
}
"""In the order of their numbers, from 1."""


def algorithm(name: str) -> DynamicAlgorithm:
    """The algorithm of this name or number; KeyError if there is none."""
    if name.isdecimal() and 1 <= int(name) <= len(ALGORITHMS):
        return list(ALGORITHMS.values())[int(name) - 1]
    return ALGORITHMS[name]
