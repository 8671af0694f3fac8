"""Options shared by experiments: the web to run on, the effort, and output as a table or JSON."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from minicrawl.cli.output import show_json
from minicrawl.cli.parameters import choice, number, option, switch
from minicrawl.cli.progress_bar import progress
from minicrawl.config.values.kinds import LEAST_EDGE
from minicrawl.graph.csr import MOST_NODES, Csr
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graphfiles import read
from minicrawl.lab import webs
from minicrawl.lab.known_webs import EstimateErrors
from minicrawl.lab.page_values import PageValues, read_values
from minicrawl.lab.webs import Model, Web
from minicrawl.report.graph.source import crawled, opened
from minicrawl.store.disk.files import is_database
from minicrawl.wording import counted

_TWO_DIGITS = 9.95

T = TypeVar("T")


def show(
    graph: Csr, series: Sequence[T], as_json: bool, as_table: Callable[[Csr, Sequence[T]], None]
) -> None:
    if as_json:
        size = {"nodes": graph.nodes, "edges": graph.edges}
        show_json({"graph": size, "series": series})
    else:
        as_table(graph, series)


def about(graph: Csr) -> str:
    return f"{counted(graph.nodes, 'page')}, {counted(graph.edges, 'link')}"


def pair(errors: EstimateErrors) -> str:
    """Format the errors of all pages and of important ones."""
    return f"{in_percent(errors.error_all)}/{in_percent(errors.error_top10)}"


def in_percent(error: float) -> str:
    """Format two significant digits, at most one decimal."""
    return f"{error:.0f}" if error >= _TWO_DIGITS else f"{error:.1f}"


NODES, QUICK_NODES = 100_000, 10_000
WATCHED_NODES, QUICK_WATCHED_NODES = 20_000, 2_000
"""Size of the web for `lab windows`, which needs many laps."""
LAPS, QUICK_LAPS = 10, 5
DRAWS, QUICK_DRAWS = 6, 3
ENDOWMENT, SYNTHETIC_ENDOWMENT = 1000, 0
QUICK_RATES = (0.01, 0.1)


@dataclass(frozen=True, slots=True)
class WebChoice:
    """Web for an experiment, and its effort."""

    nodes: int | None
    seed: int
    model: Model
    graph: Path | None
    quick: bool
    usual_nodes: int
    quick_nodes: int

    def valued_web(self, path: Path) -> tuple[Web, PageValues]:
        if self.graph is None:
            raise click.UsageError("--value needs pages with names: add --graph")
        with _named(self.graph) as named:
            return webs.web_of(named, self.graph), read_values(path, named.names)

    def web(self) -> Web:
        if self.graph is None:
            nodes = self.otherwise(self.nodes, self.usual_nodes, self.quick_nodes)
            return webs.synthetic_web(self.model, nodes, self.seed)
        with _named(self.graph) as named:
            return webs.web_of(named, self.graph)

    def watched(self, draws: int) -> list[Csr]:
        """Return a graph per draw for `lab windows`; from a file, it is the same for all draws."""
        if self.graph:
            return [self.web().graph] * draws
        return [replace(self, seed=self.seed + draw).web().graph for draw in range(draws)]

    def otherwise(self, value: int | None, usual: int, when_quick: int) -> int:
        """Return the user's value, or the default."""
        return value or (when_quick if self.quick else usual)

    def endowment(self, units: int | None) -> int:
        """Return the user's value, or the default: seeds of a synthetic web deserve none."""
        if units is not None:
            return units
        return ENDOWMENT if self.graph else SYNTHETIC_ENDOWMENT


@contextmanager
def _named(path: Path) -> Iterator[NamedGraph]:
    """Yield the graph in a graph file, or of the fetched pages of a store."""
    if not is_database(path):
        yield read(path)
        return
    with opened(path, None, progress) as source:
        yield crawled(source)


def a_web(
    usual_model: Model, usual: int = NODES, when_quick: int = QUICK_NODES
) -> Callable[..., WebChoice]:
    """Return a function whose parameters declare the options of the web.

    A synthetic web has `usual` pages, or `when_quick` with --quick.
    """

    def web_choice(
        nodes: int | None = number(
            f"Pages of the synthetic web.  [default: {usual:,}; {when_quick:,} with --quick]",
            least=2,
            most=MOST_NODES,
        ),
        model: Model = choice(Model, "Model of the synthetic web.", usual_model, flag="--web"),
        graph: Path | None = option(
            "Use this graph file instead of a synthetic web: links between IDs or names, plain or "
            ".gz; - for stdin. A store gives the graph of its fetched pages.",
            metavar="FILE",
            type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
        ),
        seed: int = number("Seed of all random choices, for reproducible numbers.", 1, least=0),
        quick: bool = switch("Use a small web and few laps, for a first look."),
    ) -> WebChoice:
        if graph and nodes:
            raise click.UsageError("--nodes is for a synthetic web: leave it out with --graph")
        return WebChoice(nodes, seed, model, graph, quick, usual, when_quick)

    return web_choice


laps_option = number(
    f"Average number of reads per page.  [default: {LAPS}; {QUICK_LAPS} with --quick]"
)
draws_option = number(
    "Average over N random draws: sets of 10 seeds, or webs that change.  "
    f"[default: {DRAWS}; {QUICK_DRAWS} with --quick]"
)
endowment_option = number(
    "Units of cash shared by the seeds.  "
    f"[default: {ENDOWMENT:,}; {SYNTHETIC_ENDOWMENT} in a synthetic web]",
    least=0,
    most=1 << 30,
    metavar="UNITS",
)


def small_edge_option(default: float | None) -> Any:
    """Declare the share of a page's cash for all pages; None counts as one more link per page."""
    return option(
        "Share of a page's cash that goes to all pages equally; its links get the rest."
        + ("  [default: as much as to one of its links]" if default is None else ""),
        default,
        metavar="SHARE",
        type=click.FloatRange(LEAST_EDGE, 1 - LEAST_EDGE),
    )
