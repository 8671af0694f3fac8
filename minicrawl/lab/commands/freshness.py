"""`minicrawl lab freshness`."""

from collections.abc import Sequence

import click

from minicrawl.cli.options import Number
from minicrawl.cli.output import show_table
from minicrawl.cli.parameters import number, option, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.graph.csr import Csr
from minicrawl.lab import freshness as re_reading
from minicrawl.lab.commands.web_choice import WebChoice, about, on_a_web, show
from minicrawl.lab.freshness import FreshPoint, NewLinksPoint, NightPoint
from minicrawl.lab.webs import Model
from minicrawl.ports import part

FRESH_PAGES, QUICK_FRESH_PAGES = 2000, 300
FRESH_DAYS, QUICK_FRESH_DAYS = 60, 15


@click.command()
@on_a_web(Model.COPYING, FRESH_PAGES, QUICK_FRESH_PAGES)
@with_options
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
    lie. The second table shows nightly updates: pages requested, requested pages that had not
    changed, and changed pages that were left out. The third shows how many new links of hubs are
    found, and how late, if readings are rewarded for them and if not.
    """
    web = choice.web()
    counted = choice.otherwise(days, FRESH_DAYS, QUICK_FRESH_DAYS)
    duration = re_reading.Days(warm_up=-(-counted // 2), counted=counted, seed=choice.seed)
    with progress("freshness") as tell:
        shares = shares or re_reading.SHARES
        points = re_reading.freshness(web, shares, duration, part(tell, 0.0, 0.8))
        found: list[FreshPoint | NightPoint | NewLinksPoint] = [*points]
        found += re_reading.nights(web, duration)
        found += re_reading.new_links(web, shares, duration, part(tell, 0.8, 1.0))
    show(web.graph, found, as_json, _show_freshness)


def _show_freshness(graph: Csr, found: Sequence[FreshPoint | NightPoint | NewLinksPoint]) -> None:
    points = [one for one in found if isinstance(one, FreshPoint)]
    nights = [one for one in found if isinstance(one, NightPoint)]
    shares = list(dict.fromkeys(point.share for point in points))
    orders = dict.fromkeys(point.order for point in points)
    show_table(
        "Freshness in % of the best at random moments / unchanged in %, by share read each day",
        ["strategy", "sitemaps", *(f"{share:g}" for share in shares)],
        (
            [*order, *(fresh_percent(one) for one in points if one.order == order)]
            for order in orders
        ),
        "",
    )
    show_table(
        "Nightly updates, in % of the pages",
        ["change a night", "sitemaps", "asked", "unchanged", "missed"],
        (
            [f"{100 * one.changing:.1f}", str(one.sitemap)]
            + [f"{100 * share:.1f}" for share in (one.asked, one.unchanged, one.missed)]
            for one in nights
        ),
        about(graph),
    )
    show_table(
        "New links found in % / mean delay in hours / freshness as above, by share read each day",
        ["new links", *(f"{share:g}" for share in shares)],
        (
            [
                "rewarded" if counted else "ignored",
                *(
                    f"{100 * one.found:.0f}/{24 * one.delay_days:.1f}"
                    f"/{100 * one.freshness / one.best:.0f}"
                    for one in found
                    if isinstance(one, NewLinksPoint) and one.counted == counted
                ),
            ]
            for counted in (False, True)
        ),
        "",
    )


def fresh_percent(point: FreshPoint) -> str:
    return f"{100 * point.freshness / point.best:.0f}/{100 * point.unchanged:.0f}"
