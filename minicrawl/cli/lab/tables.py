"""The numbers of an experiment as a table or as JSON."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from minicrawl.cli.common.tables import show_json
from minicrawl.graph.csr import Csr
from minicrawl.lab.measure import EstimateErrors

_TWO_DIGITS = 9.95


class SeriesOfNumbers(Protocol):
    """A curve or a point of one."""

    def as_json(self) -> dict[str, object]:
        """Its numbers by their names."""


T = TypeVar("T", bound=SeriesOfNumbers)


def show(
    graph: Csr, series: Sequence[T], as_json: bool, as_table: Callable[[Csr, Sequence[T]], None]
) -> None:
    """Show the series of an experiment on this graph."""
    if as_json:
        size = {"nodes": graph.nodes, "edges": graph.edges}
        show_json({"graph": size, "series": [one.as_json() for one in series]})
    else:
        as_table(graph, series)


def about(graph: Csr) -> str:
    """How large the graph is."""
    return f"{graph.nodes:,} pages, {graph.edges:,} links"


def pair(found: EstimateErrors) -> str:
    """The errors of all pages and of the important ones."""
    return f"{_percent(found.all)}/{_percent(found.top10)}"


def _percent(error: float) -> str:
    """Two digits that count, at most one behind the point."""
    return f"{error:.0f}" if error >= _TWO_DIGITS else f"{error:.1f}"
