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
    small_edge_option,
)
from minicrawl.graph.csr import Csr
from minicrawl.lab import order as lab
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.spam import ENTRANCES, PAGES, Farm, FarmKind
from minicrawl.lab.webs import Model
from minicrawl.opic.money import SMALL_EDGE


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
@small_edge_option(SMALL_EDGE)
@click.option(
    "--polite",
    "at_once",
    metavar="K",
    type=click.IntRange(min=1),
    help="Have K requests under way at once, never two of them to one host. The web must have "
    "hosts: the synthetic one of --web copying, or a graph of URLs.  [default: one request at a "
    "time, hosts do not matter]",
)
@click.option(
    "--spam",
    "kinds",
    multiple=True,
    type=click.Choice([kind.value for kind in FarmKind]),
    help=f"Add a farm of spam: {PAGES:,} pages on a host that all link to each other (host), or "
    f"at random (random), or pages without an end (trap). {ENTRANCES} honest pages, drawn evenly, "
    "link to it once. Shows the share of spam in the pages fetched and the honest importance that "
    "is lost; each order crawls twice, with spam and without. Repeatable.",
)
@click.option(
    "--spam-hosts",
    metavar="N",
    type=click.IntRange(min=1),
    help="Spread each farm over N hosts of one registrable domain.  [default: 1]",
)
@click.option(
    "--spam-domains",
    metavar="N",
    type=click.IntRange(min=1),
    help="Spread each farm over N domains that link to each other.  [default: 1]",
)
@json_option
def order(
    choice: WebChoice,
    orders: Sequence[str],
    draws: int | None,
    endowment: int | None,
    small_edge: float,
    at_once: int | None,
    kinds: Sequence[str],
    spam_hosts: int | None,
    spam_domains: int | None,
    as_json: bool,
) -> None:
    """Show which order of reading finds the important pages first.

    A crawl from ten random pages, which knows what it has read and no more. The numbers are the
    share of all importance that the pages fetched so far hold, and their standard errors over the
    draws. Draws differ more than orders do: the second table compares orders draw by draw."""
    web, farms = choice.web(), _farms(kinds, spam_hosts, spam_domains)
    if at_once and not web.has_hosts:
        raise click.UsageError("--polite needs a web whose hosts are known: take one of URLs")
    with progress("order") as tell:
        curves = lab.order(
            web,
            orders=orders or [*OF_AN_UNKNOWN_WEB],
            crawls=lab.Crawls(
                draws=choice.otherwise(draws, DRAWS, QUICK_DRAWS),
                seed=choice.seed,
                endowment=choice.endowment(endowment),
                small_edge=small_edge,
                at_once=at_once or 1,
            ),
            farms=farms,
            progress=tell,
        )
    show(web.graph, curves, as_json, _show_order)


def _farms(kinds: Sequence[str], hosts: int | None, domains: int | None) -> list[Farm]:
    if (hosts or domains) and not kinds:
        raise click.UsageError("--spam-hosts and --spam-domains need --spam")
    if hosts and domains:
        raise click.UsageError("--spam-hosts and --spam-domains cannot be combined")
    return [
        Farm(kind=FarmKind(kind), hosts=hosts or domains or 1, is_one_site=not domains)
        for kind in kinds
    ]


def _show_order(graph: Csr, curves: Sequence[lab.Curve]) -> None:
    errors = ", with standard errors" if curves[0].found.error else ""
    _show_spreads(
        f"Share of all importance on the pages fetched, in %{errors}",
        [(curve, curve.found) for curve in curves],
        about(graph),
    )
    for title, more in (
        (f"The same less that of {lab.BASELINE}, from the same seeds", [c.gain for c in curves]),
        ("Share of spam in the pages fetched, in %", [curve.spam for curve in curves]),
        ("Importance lost by the spam, in %", [curve.loss for curve in curves]),
    ):
        if rows := [(c, found) for c, found in zip(curves, more, strict=True) if found]:
            _show_spreads(f"{title}{errors}", rows, "")


def _show_spreads(
    title: str, rows: Sequence[tuple[lab.Curve, lab.DrawnMean]], caption: str
) -> None:
    headings = ["order", *(f"{share:.0%}" for share in rows[0][0].fractions)]
    show_table(title, headings, ([curve.order, *_cells(of)] for curve, of in rows), caption)


_WIDE = 0.0995
"""A share below its negative is shown without a digit behind the point."""


def _cells(of: lab.DrawnMean) -> Iterator[str]:
    """In percent, as short as a terminal of 80 columns needs it."""
    errors = [f"±{100 * error:.1f}".replace("±0.", "±.") for error in of.error or ()]
    for place, mean in enumerate(of.mean):
        shown = f"{100 * mean:.1f}" if mean > -_WIDE else f"{100 * mean:.0f}"
        yield f"{shown}{errors[place] if errors else ''}"
