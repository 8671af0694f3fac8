"""`minicrawl lab order`."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import click

from minicrawl.cli.input_options import progress
from minicrawl.cli.output import show_table
from minicrawl.cli.setting_options import Number
from minicrawl.graph.csr import Csr
from minicrawl.lab import convergence as convergence_lab
from minicrawl.lab import order as lab
from minicrawl.lab import windows as windows_lab
from minicrawl.lab.commands.options import (
    DRAWS,
    LAPS,
    QUICK_DRAWS,
    QUICK_LAPS,
    QUICK_WATCHED_NODES,
    WARM_UP,
    WATCHED_NODES,
    WebChoice,
    about,
    endowment_option,
    json_option,
    laps_option,
    on_a_web,
    pair,
    show,
    small_edge_option,
)
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.order import ENTRANCES, PAGES, Farm, FarmKind
from minicrawl.lab.webs import OF_A_KNOWN_WEB, Model
from minicrawl.opic.money import SMALL_EDGE
from minicrawl.opic.windows import WINDOWS, WITHOUT_MEASURES, WITHOUT_WIDTH
from minicrawl.ranks.centrality import LinkMatrix


@click.command()
@on_a_web(Model.COPYING)
@click.option(
    "--strategy",
    "orders",
    multiple=True,
    metavar="NAME",
    type=click.Choice(list(OF_AN_UNKNOWN_WEB)),
    help=f"Order of reading: {', '.join(OF_AN_UNKNOWN_WEB)}; repeatable.  [default: all]",
)
@click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Average over N random sets of 10 seeds.  [default: {DRAWS}; {QUICK_DRAWS} with --quick]",
)
@endowment_option
@small_edge_option(SMALL_EDGE)
@click.option(
    "--polite",
    "at_once",
    metavar="K",
    type=click.IntRange(min=1),
    help="Have K requests in flight at once, at most one per host; needs --web copying or a graph "
    "of URLs.  [default: one request at a time, ignoring hosts]",
)
@click.option(
    "--spam",
    "kinds",
    multiple=True,
    type=click.Choice([kind.value for kind in FarmKind]),
    help=f"Add a spam farm, linked from {ENTRANCES} random honest pages: {PAGES:,} pages on a host "
    "that all link to each other (host) or at random (random), or endless pages (trap). Each order "
    "crawls with and without spam, to show the share of spam and the importance lost; repeatable.",
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
    """Compare orders of reading by the importance that they find early.

    Each crawl starts from ten random pages and knows only what it has read. The numbers are the
    share of all importance held by the pages fetched so far, with standard errors over the draws.
    Draws differ more than orders do, so the second table compares orders draw by draw."""
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
"""A share below -9.95 % is shown without decimals."""


def _cells(of: lab.DrawnMean) -> Iterator[str]:
    """Format shares in percent, short enough for 80 columns."""
    errors = [f"±{100 * error:.1f}".replace("±0.", "±.") for error in of.error or ()]
    for place, mean in enumerate(of.mean):
        shown = f"{100 * mean:.1f}" if mean > -_WIDE else f"{100 * mean:.0f}"
        yield f"{shown}{errors[place] if errors else ''}"


# ================================================================ convergence
#
# `minicrawl lab convergence`.

SHOWN_LAPS = (1, 2, 3, 5, 10)


@click.command()
@on_a_web(Model.POWER_LAW)
@laps_option
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    type=click.Choice(list(OF_A_KNOWN_WEB)),
    help="Order of reading; repeatable.  [default: all]",
)
@click.option(
    "--matrix",
    type=click.Choice([matrix.value for matrix in LinkMatrix]),
    default=LinkMatrix.WALK.value,
    show_default=True,
    help="Link matrix that defines importance: the links of a page add up to 1 (walk), each link "
    "counts 1 (links), or 1 in both directions (either).",
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
    """Measure how fast estimates approach true importance.

    The pages of a fully known web are read lap after lap. Errors are relative, in percent: of all
    pages / of the most important tenth.
    """
    graph = choice.web().graph
    run = partial(convergence_lab.convergence, small_edge=small_edge)
    if matrix != LinkMatrix.WALK:
        if small_edge is not None:
            raise click.UsageError("--small-edge is a share of a walk: leave it out with --matrix")
        run = partial(convergence_lab.matrix_convergence, matrix=LinkMatrix(matrix))
    with progress("convergence") as tell:
        series = run(
            graph,
            strategies=strategies or list(OF_A_KNOWN_WEB),
            laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
            seed=choice.seed,
            progress=tell,
        )
    show(graph, series, as_json, _show_convergence)


def _show_convergence(graph: Csr, series: Sequence[convergence_lab.Series]) -> None:
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


# ================================================================ windows
#
# `minicrawl lab windows`.

WIDTH = 8.0
POSITIVE = Number(min=0, min_open=True)
MEASURES: click.ParamType[int] = click.IntRange(min=2)


class PolicyType(click.ParamType[tuple[str, float | None, int | None]]):
    """NAME, NAME=WIDTH or NAME=WIDTH/MEASURES; the default width is --width."""

    name = "policy"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float | None, int | None]:
        name, equals, size = str(value).partition("=")
        if name not in WINDOWS:
            self.fail(f"{name!r} is not one of {', '.join(WINDOWS)}", param, ctx)
        width, slash, most = size.partition("/")
        if equals and name in WITHOUT_WIDTH:
            self.fail(f"a {name} window has no width", param, ctx)
        if slash and name in WITHOUT_MEASURES:
            self.fail(f"the {name} window keeps no measures", param, ctx)
        return (
            name,
            POSITIVE.convert(width, param, ctx) if equals else None,
            MEASURES.convert(most, param, ctx) if slash else None,
        )


@click.command()
@on_a_web(Model.POWER_LAW, WATCHED_NODES, QUICK_WATCHED_NODES)
@laps_option
@click.option(
    "--warm-up",
    metavar="N",
    type=click.IntRange(min=0),
    default=WARM_UP,
    show_default=True,
    help="Laps before the web changes, from the fixpoint on, so that all windows are full. 0 "
    "starts cold, as in the paper: one unit of cash per page and no history.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=PolicyType(),
    metavar="NAME[=WIDTH[/MEASURES]]",
    help="Window, with its width in circulations of all cash (in readings for variable) and the "
    "maximum number of measures per page; repeatable.  [default: all]",
)
@click.option(
    "--width",
    metavar="W",
    type=POSITIVE,
    default=WIDTH,
    show_default=True,
    help="Width of windows given without one.",
)
@click.option(
    "--rate",
    "rates",
    metavar="R",
    multiple=True,
    type=Number(0, 1),
    help="Share of the pages that change during a lap; repeatable.  "
    f"[default: {', '.join(map(str, windows_lab.RATES))}]",
)
@click.option(
    "--births",
    metavar="R",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the pages replaced by new ones during a lap.",
)
@small_edge_option(None)
@json_option
def windows(
    choice: WebChoice,
    laps: int | None,
    warm_up: int,
    policies: Sequence[tuple[str, float | None, int | None]],
    width: float,
    rates: Sequence[float],
    births: float,
    small_edge: float | None,
    as_json: bool,
) -> None:
    """Compare measurement windows on a changing web.

    While pages are read, others gain or lose half of their inlinks. Errors are relative, in
    percent, over the second half of the laps: of all pages / of the most important tenth. A
    measure is an amount of cash and its time.
    """
    chosen = [windows_lab.WindowPolicy(name, own or width, most) for name, own, most in policies]
    graph = choice.web().graph
    with progress("windows") as tell:
        points = windows_lab.windows(
            graph,
            policies=chosen or windows_lab.POLICIES,
            rates=rates or choice.rates(),
            watching=windows_lab.Watching(
                laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
                warm_up=warm_up,
                births=births,
                small_edge=small_edge,
                seed=choice.seed,
            ),
            progress=tell,
        )
    show(graph, points, as_json, _show_windows)


def _show_windows(graph: Csr, points: Sequence[windows_lab.Point]) -> None:
    rates = list(dict.fromkeys(point.rate for point in points))
    rows: dict[str, list[windows_lab.Point]] = {}
    for point in points:
        rows.setdefault(str(point.policy), []).append(point)
    show_table(
        "Relative error in %, all pages / top 10 %, by share of pages that change",
        ["policy", *(f"{rate:.3g}" for rate in rates), "measures"],
        (
            [name, *(pair(point.errors) for point in found), f"{found[-1].measures_per_page:.1f}"]
            for name, found in rows.items()
        ),
        about(graph),
    )
