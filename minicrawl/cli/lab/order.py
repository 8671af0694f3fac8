"""`minicrawl lab order`."""

from collections.abc import Sequence

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
    share of all importance that the pages fetched so far hold.
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
    show_table(
        "Share of all importance on the pages fetched, by share of pages fetched",
        ["order", *(f"{share:.0%}" for share in curves[0].fractions)],
        ([curve.order, *(f"{mass:.3f}" for mass in curve.mass)] for curve in curves),
        about(graph),
    )
