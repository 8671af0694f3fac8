"""`minicrawl lab order`."""

from collections.abc import Iterator, Sequence

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.tables import show_table
from minicrawl.cli.lab.options import (
    DRAWS,
    QUICK_DRAWS,
    WebChoice,
    about,
    endowment_option,
    json_option,
    on_a_web,
    show,
)
from minicrawl.graph.csr import Csr
from minicrawl.lab import order as lab
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.webs import Model


@click.command()
@on_a_web(Model.COPYING)
@click.option(
    "--strategy",
    "orders",
    multiple=True,
    metavar="NAME",
    type=click.Choice(list(OF_AN_UNKNOWN_WEB)),
    help=f"{', '.join(OF_AN_UNKNOWN_WEB)}; repeatable.  [default: all]",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help="The curves are the mean over so many draws of ten seeds.  "
    f"[default: {DRAWS}; {QUICK_DRAWS} with --quick]",
)
@endowment_option
@json_option
def order(
    choice: WebChoice,
    orders: Sequence[str],
    draws: int | None,
    endowment: int | None,
    as_json: bool,
) -> None:
    """Show which order of reading finds the important pages first.

    A crawl from ten random pages, which knows what it has read and no more. The numbers are the
    share of all importance that the pages fetched so far hold, and their standard errors over the
    draws. Draws differ more than orders do, so orders are compared draw by draw: the second table.
    """
    web = choice.web()
    with progress("order") as tell:
        curves = lab.order(
            web,
            orders=orders or list(OF_AN_UNKNOWN_WEB),
            crawls=lab.Crawls(
                draws=choice.otherwise(draws, DRAWS, QUICK_DRAWS),
                seed=choice.seed,
                endowment=choice.endowment(endowment),
            ),
            progress=tell,
        )
    show(web.graph, curves, as_json, _show_order)


def _show_order(graph: Csr, curves: Sequence[lab.Curve]) -> None:
    errors = ", with standard errors" if curves[0].found.error else ""
    _show_spreads(
        f"Share of all importance on the pages fetched, in %{errors}",
        [(curve, curve.found) for curve in curves],
        about(graph),
    )
    if gains := [(curve, curve.gain) for curve in curves if curve.gain]:
        title = f"The same less that of {lab.BASELINE}, from the same seeds{errors}"
        _show_spreads(title, gains, f"{lab.SEEDS} seeds a draw", sign="+")


def _show_spreads(
    title: str, rows: Sequence[tuple[lab.Curve, lab.Spread]], caption: str, sign: str = ""
) -> None:
    headings = ["order", *(f"{share:.0%}" for share in rows[0][0].fractions)]
    show_table(title, headings, ([curve.order, *_cells(of, sign)] for curve, of in rows), caption)


def _cells(of: lab.Spread, sign: str) -> Iterator[str]:
    """In percent. The 0 before the point of an error is left out, for the width of a terminal."""
    errors = [f"±{100 * error:.1f}".replace("±0.", "±.") for error in of.error or ()]
    for place, mean in enumerate(of.mean):
        yield f"{100 * mean:{sign}.1f}{errors[place] if errors else ''}"
