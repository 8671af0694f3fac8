"""`minicrawl lab convergence`."""

from collections.abc import Sequence
from pathlib import Path

import click

from minicrawl.cli.output import show_table
from minicrawl.cli.parameters import choice, option, with_made, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from minicrawl.lab import convergence as curves
from minicrawl.lab.commands import web_choice
from minicrawl.lab.known_webs import KNOWN_WEB_ORDERS
from minicrawl.lab.webs import Model

SHOWN_LAPS = (1, 2, 3, 5, 10)


@click.command()
@with_options
@with_made(choice=web_choice.a_web(Model.POWER_LAW))
@json_option
def convergence(
    choice: web_choice.WebChoice,
    as_json: bool,
    laps: int | None = web_choice.laps_option,
    small_edge: float | None = web_choice.small_edge_option(None),
    strategies: Sequence[str] = choice(
        list(KNOWN_WEB_ORDERS),
        "Order of reading; repeatable.  [default: all]",
        flag="--strategy",
        multiple=True,
    ),
    matrix: Path | None = option(
        "Link matrix: a graph file with a weight for each link. A page gives its links parts of "
        "its cash in proportion to their weights.",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    ),
) -> None:
    """Measure how fast estimates approach true importance.

    The pages of a fully known web are read lap after lap. Errors are relative, in percent: of all
    pages / of the most important tenth.
    """
    if matrix and (choice.graph or choice.nodes):
        raise click.UsageError("--matrix has a graph: leave --graph and --nodes out")
    if matrix is None:
        graph, weights = choice.web().graph, None
    else:
        named = read(matrix)
        if named.weights is None:
            raise click.UsageError(f"{matrix} has no weights: use --graph")
        graph, weights = named.graph, named.weights
    with progress("convergence") as tell:
        series = curves.convergence(
            graph,
            weights,
            strategies=strategies or list(KNOWN_WEB_ORDERS),
            laps=choice.otherwise(laps, web_choice.LAPS, web_choice.QUICK_LAPS),
            seed=choice.seed,
            small_edge=small_edge,
            progress=tell,
        )
    web_choice.show(graph, series, as_json, _show_convergence)


def _show_convergence(graph: Csr, series: Sequence[curves.Series]) -> None:
    laps = [lap for lap in SHOWN_LAPS if lap <= len(series[0].errors)]
    show_table(
        "Relative error in %, all pages / top 10 %, by number of laps",
        ["strategy, estimator", *map(str, laps), "n x cash", "G"],
        (
            [curve.label]
            + [web_choice.pair(curve.errors[lap - 1]) for lap in laps]
            + ["" if curve.cash_when_read is None else f"{curve.cash_when_read:.2f}"]
            + [f"{curve.g[-1]:.1f}"]
            for curve in series
        ),
        "",
    )
    show_table(
        f"Spread of the relative errors of all pages after lap {len(series[0].errors)}",
        ["strategy, estimator", "mean, %", "deviation, %", "pages above twice the mean, %"],
        (
            [
                curve.label,
                f"{last.error_all:.2f}",
                f"{last.deviation:.2f}",
                f"{last.above_twice:.1f}",
            ]
            for curve in series
            for last in curve.errors[-1:]
        ),
        web_choice.about(graph),
    )
