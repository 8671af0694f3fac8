"""`minicrawl lab order`: orders of reading, by the importance that they find early."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from minicrawl import ext
from minicrawl.cli.output import show_table
from minicrawl.cli.parameters import number, option, with_made, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.graph.csr import Csr
from minicrawl.lab import importance_curves
from minicrawl.lab.commands import web_choice
from minicrawl.lab.importance_curves import BASELINE, FRACTIONS, Crawls, Curve, DrawnMean
from minicrawl.lab.reading_orders import BY_VALUE, CRAWL_ORDERS
from minicrawl.lab.webs import Model
from minicrawl.opic.ledger.money import SMALL_EDGE

ORDER_NAME = click.Choice([*CRAWL_ORDERS, BY_VALUE, *ext.entry_points(ext.ORDERS)])
"""Orders of the laboratory, and those that packages add to a crawl."""


def _budget(text: str) -> float | int:
    """Return a number of pages, or with % a share of the web."""
    try:
        budget = float(text[:-1]) / 100 if text.endswith("%") else int(text)
    except ValueError:
        budget = 0
    if budget <= 0 or (text.endswith("%") and budget > 1):
        raise click.BadParameter(f"{text!r} is no budget: write a number of pages, or 0% to 100%")
    return budget


@click.command()
@with_options
@with_made(choice=web_choice.a_web(Model.COPYING))
@json_option
def order(
    choice: web_choice.WebChoice,
    as_json: bool,
    orders: Sequence[str] = option(
        f"Order of reading: {', '.join(CRAWL_ORDERS)}, with --value {BY_VALUE}, or an order that "
        "an installed package adds; repeatable.  [default: all of the laboratory; siblings and "
        f"{BY_VALUE} with --value]",
        flag="--strategy",
        metavar="NAME",
        type=ORDER_NAME,
        multiple=True,
    ),
    values: Path | None = option(
        "Values of pages in --graph: a name per line, and optionally a tab and a number from 0 to "
        "1. Adds a table of the share of the reachable value that is found.",
        flag="--value",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    ),
    budgets: Sequence[float | int] = option(
        "Number of pages to fetch, or percentage of all; repeatable.",
        [f"{share:.0%}" for share in FRACTIONS],
        flag="--budget",
        metavar="N|P%",
        type=_budget,
        multiple=True,
    ),
    draws: int | None = web_choice.draws_option,
    endowment: int | None = web_choice.endowment_option,
    small_edge: float = web_choice.small_edge_option(SMALL_EDGE),
    at_once: int | None = number(
        "Have K requests in flight at once, at most one per host; needs --web copying or a graph "
        "of URLs.  [default: one request at a time, ignoring hosts]",
        flag="--polite",
        metavar="K",
    ),
) -> None:
    """Compare orders of reading by the importance that they find early.

    Each crawl starts from ten random pages and knows only what it has read. The numbers are the
    share of all importance held by the pages fetched so far, with standard errors over the draws.
    Draws differ more than orders do, so the second table compares orders draw by draw.
    """
    usual = [*CRAWL_ORDERS]
    if values is None:
        web, valued = choice.web(), None
        if BY_VALUE in orders:
            raise click.UsageError(f"--strategy {BY_VALUE} needs the values of pages: --value")
    else:
        (web, valued), usual = choice.valued_web(values), ["siblings", BY_VALUE]
    if at_once and not web.has_hosts:
        raise click.UsageError("--polite needs several hosts: --web copying or a graph of URLs")
    with progress("order") as tell:
        curves = importance_curves.order(
            web,
            orders=orders or usual,
            crawls=Crawls(
                draws=choice.otherwise(draws, web_choice.DRAWS, web_choice.QUICK_DRAWS),
                seed=choice.seed,
                endowment=choice.endowment(endowment),
                small_edge=small_edge,
                at_once=at_once or 1,
                fractions=budgets,
            ),
            values=valued,
            progress=tell,
        )
    web_choice.show(web.graph, curves, as_json, _show_order)


def _show_order(graph: Csr, curves: Sequence[Curve]) -> None:
    errors = ", with standard errors" if curves[0].gathered.error else ""
    _show_spreads(
        f"Share of all importance on the pages fetched, in %{errors}",
        [(curve, curve.gathered) for curve in curves],
        web_choice.about(graph),
    )
    for title, means in (
        ("Share that is still fresh, in %", [curve.fresh for curve in curves]),
        ("Share of the reachable value found, in %", [curve.value for curve in curves]),
        (f"Difference from {BASELINE}, from the same seeds", [curve.gain for curve in curves]),
    ):
        if rows := [(curve, mean) for curve, mean in zip(curves, means, strict=True) if mean]:
            _show_spreads(f"{title}{errors}", rows, "")


def _show_spreads(title: str, rows: Sequence[tuple[Curve, DrawnMean]], caption: str) -> None:
    budgets = rows[0][0].fractions
    shown = [f"{b:,}" if isinstance(b, int) else f"{100 * b:g}%" for b in budgets]
    show_table(title, ["order", *shown], ([curve.order, *cells(of)] for curve, of in rows), caption)


_WIDE = 0.0995
"""A share below -9.95 % is shown without decimals."""


def cells(of: DrawnMean) -> Iterator[str]:
    """Format shares in percent, short enough for 80 columns."""
    errors = [f"±{100 * error:.1f}".replace("±0.", "±.") for error in of.error or ()]
    for place, mean in enumerate(of.mean):
        shown = f"{100 * mean:.1f}" if mean > -_WIDE else f"{100 * mean:.0f}"
        yield f"{shown}{errors[place] if errors else ''}"
