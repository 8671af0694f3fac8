"""`minicrawl lab freshness`."""

from collections.abc import Sequence

import click

from minicrawl.cli.options import Number
from minicrawl.cli.output import show_table
from minicrawl.cli.parameters import number, option, with_made, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.graph.csr import Csr
from minicrawl.lab import freshness as re_reading
from minicrawl.lab.commands.web_choice import WebChoice, a_web, about, show
from minicrawl.lab.freshness import FreshPoint
from minicrawl.lab.webs import Model

FRESH_PAGES, QUICK_FRESH_PAGES = 2000, 300
FRESH_DAYS, QUICK_FRESH_DAYS = 60, 15


@click.command()
@with_options
@with_made(choice=a_web(Model.COPYING, FRESH_PAGES, QUICK_FRESH_PAGES))
@json_option
def freshness(
    choice: WebChoice,
    as_json: bool,
    shares: Sequence[float] = option(
        "Share of the pages to read each day; repeatable.  [default: "
        f"{', '.join(map(str, re_reading.SHARES))}]",
        flag="--share",
        metavar="R",
        multiple=True,
        type=Number(0, 10, min_open=True),
    ),
    days: int | None = number(
        f"Days that count, after half as many to warm up.  [default: {FRESH_DAYS}; "
        f"{QUICK_FRESH_DAYS} with --quick]"
    ),
) -> None:
    """Compare orders of re-reading pages on a changing web.

    Freshness is the share of the importance on pages that have not changed since they were read, in
    percent of the best for reading at random moments (Azar et al., 2018). Sitemaps are honest, or
    lie. The second number is the percentage of the readings that found no change.
    """
    web = choice.web()
    counted = choice.otherwise(days, FRESH_DAYS, QUICK_FRESH_DAYS)
    duration = re_reading.Days(warm_up=-(-counted // 2), counted=counted, seed=choice.seed)
    with progress("freshness") as tell:
        points = list(re_reading.freshness(web, shares or re_reading.SHARES, duration, tell))
    show(web.graph, points, as_json, _show_freshness)


def _show_freshness(graph: Csr, points: Sequence[FreshPoint]) -> None:
    shares = dict.fromkeys(point.share for point in points)
    orders = dict.fromkeys(point.order for point in points)
    show_table(
        "Freshness in % of the best at random moments / unchanged in %, by share read each day",
        ["strategy", "sitemaps", *(f"{share:g}" for share in shares)],
        (
            [
                *order,
                *(
                    f"{100 * point.freshness / point.best:.0f}/{100 * point.unchanged:.0f}"
                    for point in points
                    if point.order == order
                ),
            ]
            for order in orders
        ),
        about(graph),
    )
