"""`minicrawl lab convergence`."""

from collections.abc import Sequence
from functools import partial

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.tables import show_table
from minicrawl.cli.lab.options import (
    LAPS,
    QUICK_LAPS,
    WebChoice,
    about,
    json_option,
    laps_option,
    on_a_web,
    pair,
    show,
    small_edge_option,
)
from minicrawl.graph.csr import Csr
from minicrawl.lab import convergence as lab
from minicrawl.lab.strategies import OF_A_KNOWN_WEB
from minicrawl.lab.webs import Model
from minicrawl.ranks.eigenvector import LinkMatrix

SHOWN_LAPS = (1, 2, 3, 5, 10)


@click.command()
@on_a_web(Model.POWER_LAW)
@laps_option
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    type=click.Choice(list(OF_A_KNOWN_WEB)),
    help="An order of reading; repeatable.  [default: all]",
)
@click.option(
    "--matrix",
    type=click.Choice([matrix.value for matrix in LinkMatrix]),
    default=LinkMatrix.WALK.value,
    show_default=True,
    help="The link matrix whose fixpoint is the importance: the links of a page add up to 1 "
    "(walk), each link is 1 (links), or each link is 1 in both directions (either).",
)
@small_edge_option(None)
@json_option
def convergence(
    choice: WebChoice,
    laps: int | None,
    strategies: Sequence[str],
    matrix: str,
    small_edge: float | None,
    as_json: bool,
) -> None:
    """Show how fast the estimates approach the true importance.

    The pages of a web that is known as a whole are read lap after lap. Errors are relative, in
    percent: of all pages / of the tenth that is most important.
    """
    graph = choice.web().graph
    run = partial(lab.convergence, small_edge=small_edge)
    if matrix != LinkMatrix.WALK:
        if small_edge is not None:
            raise click.UsageError("--small-edge is a share of a walk: leave it out with --matrix")
        run = partial(lab.matrix_convergence, matrix=LinkMatrix(matrix))
    with progress("convergence") as tell:
        series = run(
            graph,
            strategies=strategies or list(OF_A_KNOWN_WEB),
            laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
            seed=choice.seed,
            progress=tell,
        )
    show(graph, series, as_json, _show_convergence)


def _show_convergence(graph: Csr, series: Sequence[lab.Series]) -> None:
    laps = [lap for lap in SHOWN_LAPS if lap <= len(series[0].errors)]
    show_table(
        "Relative error in %, all pages / top 10 %, after so many laps",
        ["strategy, estimator", *map(str, laps), "n x cash", "G"],
        (
            [curve.label]
            + [pair(curve.errors[lap - 1]) for lap in laps]
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
            [curve.label, f"{last.all:.2f}", f"{last.deviation:.2f}", f"{last.above_twice:.1f}"]
            for curve in series
            for last in curve.errors[-1:]
        ),
        about(graph),
    )
