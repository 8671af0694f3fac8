"""`minicrawl lab order`, `convergence`, `windows`, `freshness` and `figures`."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from minicrawl import ext
from minicrawl.cli.options import Command, Number
from minicrawl.cli.output import show_json, show_table
from minicrawl.cli.parameters import choice, number, option, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.config.values.kinds import LEAST_EDGE
from minicrawl.graph.csr import MOST_NODES, Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graphfiles.reading import read
from minicrawl.lab import known_webs as known, reading_orders as lab, webs
from minicrawl.lab.known_webs import (
    KNOWN_WEB_ORDERS,
    RATES,
    FreshPoint,
    NewLinksPoint,
    NightPoint,
    Series,
    Watching,
    WindowPoint,
    WindowPolicy,
)
from minicrawl.lab.reading_orders import CRAWL_ORDERS, Crawls, Curve
from minicrawl.lab.webs import (
    ENTRANCES,
    PAGES,
    EstimateErrors,
    Farm,
    FarmKind,
    Model,
    PageValues,
    Web,
    read_values,
)
from minicrawl.opic.ledger.money import SMALL_EDGE
from minicrawl.opic.windows.by_name import WINDOWS, WITHOUT_MEASURES, WITHOUT_WIDTH
from minicrawl.ports import Progress, part
from minicrawl.report.files.figures import Figure, PlotLine, prepare, write
from minicrawl.report.graph.source import crawled, opened
from minicrawl.store.files import is_database
from minicrawl.wording import counted

# ================================================================ options
#
# Options shared by experiments: the web to run on, the effort, and output as a table or JSON.

_TWO_DIGITS = 9.95


class SeriesOfNumbers(Protocol):
    """Curve of an experiment, or a point of it."""

    def as_json(self) -> dict[str, object]:
        """Return the numbers by name."""


T = TypeVar("T", bound=SeriesOfNumbers)


def show(
    graph: Csr, series: Sequence[T], as_json: bool, as_table: Callable[[Csr, Sequence[T]], None]
) -> None:
    """Show the results of an experiment on this graph."""
    if as_json:
        size = {"nodes": graph.nodes, "edges": graph.edges}
        show_json({"graph": size, "series": [one.as_json() for one in series]})
    else:
        as_table(graph, series)


def about(graph: Csr) -> str:
    """Format the size of a graph."""
    return f"{counted(graph.nodes, 'page')}, {counted(graph.edges, 'link')}"


def pair(found: EstimateErrors) -> str:
    """Format the errors of all pages and of important ones."""
    return f"{_percent(found.all)}/{_percent(found.top10)}"


def _percent(error: float) -> str:
    """Format two significant digits, at most one decimal."""
    return f"{error:.0f}" if error >= _TWO_DIGITS else f"{error:.1f}"


NODES, QUICK_NODES = 100_000, 10_000
WATCHED_NODES, QUICK_WATCHED_NODES = 20_000, 2_000
"""Size of the web for `lab windows`, which needs many laps."""
LAPS, QUICK_LAPS = 10, 5
DRAWS, QUICK_DRAWS = 6, 3
ENDOWMENT, SYNTHETIC_ENDOWMENT = 1000, 0
QUICK_RATES = (0.01, 0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebChoice:
    """Web for an experiment, and its effort."""

    nodes: int | None
    seed: int
    model: Model
    graph: Path | None
    quick: bool
    usual_nodes: int = NODES
    quick_nodes: int = QUICK_NODES

    def __post_init__(self) -> None:
        if self.graph and self.nodes:
            raise click.UsageError("--nodes is for a synthetic web: leave it out with --graph")

    def valued_web(self, path: Path) -> tuple[Web, PageValues]:
        """Return the web of the graph, and the values of its pages."""
        if self.graph is None:
            raise click.UsageError("--value needs pages with names: add --graph")
        with _named(self.graph) as named:
            return webs.web_of(named, self.graph), read_values(path, named.names)

    def web(self) -> Web:
        return _web_of(self.graph) if self.graph else self._synthetic(self.model)

    def with_hosts(self, web: Web) -> Web:
        """Return a web with hosts: `web` if it is from a file, or else one of the copying model."""
        return web if self.graph else self._synthetic(Model.COPYING)

    def watched(self, draws: int) -> list[Csr]:
        """Return a graph per draw for `lab windows`; from a file, it is the same for all draws."""
        smaller = replace(self, usual_nodes=WATCHED_NODES, quick_nodes=QUICK_WATCHED_NODES)
        if self.graph:
            return [smaller.web().graph] * draws
        return [replace(smaller, seed=self.seed + draw).web().graph for draw in range(draws)]

    def otherwise(self, value: int | None, usual: int, when_quick: int) -> int:
        """Return the user's value, or the default."""
        return value or (when_quick if self.quick else usual)

    def endowment(self, units: int | None) -> int:
        """Return the user's value, or the default: seeds of a synthetic web deserve none."""
        if units is not None:
            return units
        return ENDOWMENT if self.graph else SYNTHETIC_ENDOWMENT

    def rates(self) -> Sequence[float]:
        """Return the default rates of change."""
        return QUICK_RATES if self.quick else RATES

    def _synthetic(self, model: Model) -> Web:
        nodes = self.otherwise(self.nodes, self.usual_nodes, self.quick_nodes)
        return webs.synthetic_web(model, nodes, self.seed)


def _web_of(path: Path) -> Web:
    with _named(path) as named:
        return webs.web_of(named, path)


@contextmanager
def _named(path: Path) -> Iterator[NamedGraph]:
    """Yield the graph in a graph file, or of the fetched pages of a store."""
    if not is_database(path):
        yield read(path)
        return
    with opened(path, None, progress) as source:
        yield crawled(source)


def on_a_web(
    model: Model, usual: int = NODES, quick: int = QUICK_NODES
) -> Callable[[Command], Command]:
    """Add the options of the web; the command gets them as `choice`.

    A synthetic web has `usual` pages, or `quick` with --quick.
    """
    sizes = {"usual_nodes": usual, "quick_nodes": quick}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_choice(
            nodes: int | None, model: str, graph: Path | None, seed: int, quick: bool, **rest: Any
        ) -> None:
            choice = WebChoice(
                nodes=nodes, seed=seed, model=Model(model), graph=graph, quick=quick, **sizes
            )
            command(choice=choice, **rest)

        decorated: Command = with_choice
        for declared in reversed(_web_options(model, usual, quick)):
            decorated = declared(decorated)
        return decorated

    return decorate


def _web_options(model: Model, usual: int, quick: int) -> Sequence[Callable[[Command], Command]]:
    return (
        click.option(
            "--nodes",
            metavar="N",
            type=click.IntRange(min=2, max=MOST_NODES),
            help=f"Pages of the synthetic web.  [default: {usual:,}; {quick:,} with --quick]",
        ),
        click.option(
            "--web",
            "model",
            type=click.Choice([model.value for model in Model]),
            default=model.value,
            show_default=True,
            help="Model of the synthetic web.",
        ),
        click.option(
            "--graph",
            metavar="FILE",
            type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
            help="Use this graph file instead of a synthetic web: links between IDs or names, "
            "plain or .gz; - for stdin. A store gives the graph of its fetched pages.",
        ),
        click.option(
            "--seed",
            metavar="N",
            type=click.IntRange(min=0),
            default=1,
            show_default=True,
            help="Seed of all random choices, for reproducible numbers.",
        ),
        click.option(
            "--quick", is_flag=True, help="Use a small web and few laps, for a first look."
        ),
    )


laps_option = click.option(
    "--laps",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Average number of reads per page.  [default: {LAPS}; {QUICK_LAPS} with --quick]",
)
draws_option = click.option(
    "--draws",
    metavar="N",
    type=click.IntRange(min=1),
    help="Average over N random draws: sets of 10 seeds, or webs that change.  "
    f"[default: {DRAWS}; {QUICK_DRAWS} with --quick]",
)
endowment_option = click.option(
    "--endowment",
    metavar="UNITS",
    type=click.IntRange(min=0, max=1 << 30),
    help="Units of cash shared by the seeds.  "
    f"[default: {ENDOWMENT:,}; {SYNTHETIC_ENDOWMENT} in a synthetic web]",
)


def small_edge_option(default: float | None) -> Callable[[Command], Command]:
    """Make the --small-edge option; the default None counts as one more link per page."""
    usual = "as much as to one of its links" if default is None else f"{default:g}"
    return click.option(
        "--small-edge",
        metavar="SHARE",
        type=click.FloatRange(LEAST_EDGE, 1 - LEAST_EDGE),
        default=default,
        help="Share of a page's cash that goes to all pages equally; its links get the rest.  "
        f"[default: {usual}]",
    )


# ================================================================ order

ORDER_NAME = click.Choice([*CRAWL_ORDERS, lab.BY_VALUE, *ext.entry_points(ext.ORDERS)])
"""Orders of the laboratory, and those that packages add to a crawl."""


@click.command()
@on_a_web(Model.COPYING)
@click.option(
    "--strategy",
    "orders",
    multiple=True,
    metavar="NAME",
    type=ORDER_NAME,
    help=f"Order of reading: {', '.join(CRAWL_ORDERS)}, with --value {lab.BY_VALUE}, or an order "
    "that an installed package adds; repeatable.  [default: all of the laboratory; siblings and "
    f"{lab.BY_VALUE} with --value]",
)
@click.option(
    "--value",
    "values",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Values of pages in --graph: a name per line, and optionally a tab and a number from 0 to "
    "1. Adds a table of the share of the reachable value that is found.",
)
@draws_option
@endowment_option
@small_edge_option(SMALL_EDGE)
@with_options
@json_option
def order(
    choice: WebChoice,
    orders: Sequence[str],
    values: Path | None,
    draws: int | None,
    endowment: int | None,
    small_edge: float,
    as_json: bool,
    at_once: int | None = number(
        "Have K requests in flight at once, at most one per host; needs --web copying or a graph "
        "of URLs.  [default: one request at a time, ignoring hosts]",
        flag="--polite",
        metavar="K",
    ),
    kinds: Sequence[str] = choice(
        [kind.value for kind in FarmKind],
        f"Add a spam farm, linked from {ENTRANCES} random honest pages: {PAGES:,} pages on a host "
        "that all link to each other (host) or at random (random), or endless pages (trap). Each "
        "order crawls with and without spam, to show the share of spam and the importance lost; "
        "repeatable.",
        flag="--spam",
        multiple=True,
    ),
    spam_hosts: int | None = number(
        "Spread each farm over N hosts of one registrable domain.  [default: 1]"
    ),
    spam_domains: int | None = number(
        "Spread each farm over N domains that link to each other.  [default: 1]"
    ),
) -> None:
    """Compare orders of reading by the importance that they find early.

    Each crawl starts from ten random pages and knows only what it has read. The numbers are the
    share of all importance held by the pages fetched so far, with standard errors over the draws.
    Draws differ more than orders do, so the second table compares orders draw by draw.
    """
    farms, usual = _farms(kinds, spam_hosts, spam_domains), [*CRAWL_ORDERS]
    if values is None:
        web, valued = choice.web(), None
        if lab.BY_VALUE in orders:
            raise click.UsageError(f"--strategy {lab.BY_VALUE} needs the values of pages: --value")
    elif farms:
        raise click.UsageError("--value and --spam cannot be combined")
    else:
        (web, valued), usual = choice.valued_web(values), ["siblings", lab.BY_VALUE]
    if at_once and not web.has_hosts:
        raise click.UsageError("--polite needs several hosts: --web copying or a graph of URLs")
    with progress("order") as tell:
        curves = lab.order(
            web,
            orders=orders or usual,
            crawls=lab.Crawls(
                draws=choice.otherwise(draws, DRAWS, QUICK_DRAWS),
                seed=choice.seed,
                endowment=choice.endowment(endowment),
                small_edge=small_edge,
                at_once=at_once or 1,
            ),
            farms=farms,
            values=valued,
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
        ("Share of the reachable value found, in %", [curve.value for curve in curves]),
        (f"Difference from {lab.BASELINE}, from the same seeds", [c.gain for c in curves]),
        ("Share of spam in the pages fetched, in %", [curve.spam for curve in curves]),
        ("Importance lost by the spam, in %", [curve.loss for curve in curves]),
    ):
        if rows := [(c, found) for c, found in zip(curves, more, strict=True) if found]:
            _show_spreads(f"{title}{errors}", rows, "")


def _show_spreads(
    title: str, rows: Sequence[tuple[lab.Curve, lab.DrawnMean]], caption: str
) -> None:
    headings = ["order", *(f"{share:.0%}" for share in rows[0][0].fractions)]
    show_table(title, headings, ([curve.order, *cells(of)] for curve, of in rows), caption)


_WIDE = 0.0995
"""A share below -9.95 % is shown without decimals."""


def cells(of: lab.DrawnMean) -> Iterator[str]:
    """Format shares in percent, short enough for 80 columns."""
    errors = [f"±{100 * error:.1f}".replace("±0.", "±.") for error in of.error or ()]
    for place, mean in enumerate(of.mean):
        shown = f"{100 * mean:.1f}" if mean > -_WIDE else f"{100 * mean:.0f}"
        yield f"{shown}{errors[place] if errors else ''}"


# ================================================================ convergence

SHOWN_LAPS = (1, 2, 3, 5, 10)


@click.command()
@on_a_web(Model.POWER_LAW)
@laps_option
@with_options
@small_edge_option(None)
@json_option
def convergence(
    choice: WebChoice,
    laps: int | None,
    small_edge: float | None,
    as_json: bool,
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
    graph, weights = _matrix(matrix) if matrix else (choice.web().graph, None)
    with progress("convergence") as tell:
        series = known.convergence(
            graph,
            weights,
            strategies=strategies or list(KNOWN_WEB_ORDERS),
            laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
            seed=choice.seed,
            small_edge=small_edge,
            progress=tell,
        )
    show(graph, series, as_json, _show_convergence)


def _matrix(path: Path) -> tuple[Csr, Weights]:
    named = read(path)
    if named.weights is None:
        raise click.UsageError(f"{path} has no weights: use --graph")
    return named.graph, named.weights


def _show_convergence(graph: Csr, series: Sequence[known.Series]) -> None:
    laps = [lap for lap in SHOWN_LAPS if lap <= len(series[0].errors)]
    show_table(
        "Relative error in %, all pages / top 10 %, by number of laps",
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

WIDTH = 8.0
POSITIVE = Number(min=0, min_open=True)
MEASURES: click.ParamType[int] = click.IntRange(min=2)


PolicyParts = tuple[str, float | None, int | None, bool]
_HISTORY = "+history"


class PolicyType(click.ParamType[PolicyParts]):
    """NAME, NAME=WIDTH or NAME=WIDTH/MEASURES; the default width is --width."""

    name = "policy"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> PolicyParts:
        written = str(value)
        name, equals, size = written.removesuffix(_HISTORY).partition("=")
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
            written.endswith(_HISTORY),
        )


@click.command()
@on_a_web(Model.POWER_LAW, WATCHED_NODES, QUICK_WATCHED_NODES)
@laps_option
@click.option(
    "--warm-up",
    "warm_ups",
    multiple=True,
    metavar="N",
    type=click.IntRange(min=0),
    help="Laps before the web changes, starting at the fixpoint, to fill all windows. 0 starts "
    "cold, as in the paper: one unit of cash per page and no history. Repeatable.  "
    f"[default: {', '.join(map(str, known.WARM_UPS))}]",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=PolicyType(),
    metavar="NAME[=WIDTH[/MEASURES]][+history]",
    help="Window, with its width in circulations of all cash (in readings for variable) and the "
    "maximum number of measures per page. With +history, pages born by --births count as having "
    "the mean history of those before them; repeatable.  [default: all]",
)
@with_options
@small_edge_option(None)
@draws_option
@json_option
def windows(
    choice: WebChoice,
    laps: int | None,
    warm_ups: Sequence[int],
    policies: Sequence[PolicyParts],
    small_edge: float | None,
    draws: int | None,
    as_json: bool,
    width: float = option("Width of windows given without one.", WIDTH, metavar="W", type=POSITIVE),
    rates: Sequence[float] = option(
        "Share of the pages that change during a lap; repeatable.  [default: "
        f"{', '.join(map(str, known.RATES))}]",
        flag="--rate",
        metavar="R",
        multiple=True,
        type=Number(0, 1),
    ),
    births: float = option(
        "Share of the pages replaced by new ones during a lap.", 0.0, metavar="R", type=Number(0, 1)
    ),
) -> None:
    """Compare measurement windows on a changing web.

    While pages are read, the inlinks of others are doubled or halved. Errors are relative, in
    percent, over the second half of the laps, with standard errors over the draws. A measure is an
    amount of cash and its time.
    """
    chosen = [
        known.WindowPolicy(name, own or width, most, default_history)
        for name, own, most, default_history in policies
    ]
    graphs = choice.watched(choice.otherwise(draws, DRAWS, QUICK_DRAWS))
    watching = Watching(
        laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
        warm_up=0,
        births=births,
        small_edge=small_edge,
        seed=choice.seed,
    )
    with progress("windows") as tell:
        points = known.drawn_windows(
            graphs,
            policies=chosen or known.POLICIES,
            rates=rates or choice.rates(),
            starts=[replace(watching, warm_up=laps) for laps in warm_ups or known.WARM_UPS],
            progress=tell,
        )
    show(graphs[0], points, as_json, _show_windows)


def _show_windows(graph: Csr, points: Sequence[WindowPoint]) -> None:
    rates = dict.fromkeys(point.rate for point in points)
    for warm_up in dict.fromkeys(point.warm_up for point in points):
        rows: dict[str, list[WindowPoint]] = {}
        for point in points:
            if point.warm_up == warm_up:
                rows.setdefault(str(point.policy), []).append(point)
        for pages, caption in (("all", ""), ("top10", about(graph))):
            show_table(
                f"Relative error in %, {_PAGES[pages]}, {_start(warm_up)}, by share that changes",
                ["policy", *(f"{rate:.3g}" for rate in rates), "measures"],
                (
                    [
                        name,
                        *(_error_cell(point, pages) for point in row),
                        f"{row[-1].measures_per_page:.1f}",
                    ]
                    for name, row in rows.items()
                ),
                caption,
            )


_PAGES = {"all": "all pages", "top10": "important pages"}
"""Pages by their field of `EstimateErrors`."""


def _start(warm_up: int) -> str:
    return f"after {counted(warm_up, 'lap')}" if warm_up else "cold start"


def _error_cell(point: WindowPoint, pages: str) -> str:
    shown = _percent(getattr(point.errors, pages))
    if point.standard_error is None:
        return shown
    return f"{shown}±{getattr(point.standard_error, pages):.1f}".replace("±0.", "±.")


# ================================================================ freshness

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
        f"{', '.join(map(str, known.SHARES))}]",
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
    duration = known.Days(warm_up=-(-counted // 2), counted=counted, seed=choice.seed)
    with progress("freshness") as tell:
        shares = shares or known.SHARES
        points = known.freshness(web, shares, duration, part(tell, 0.0, 0.8))
        found: list[FreshPoint | NightPoint | NewLinksPoint] = [*points]
        found += known.nights(web, duration)
        found += known.new_links(web, shares, duration, part(tell, 0.8, 1.0))
    show(web.graph, found, as_json, _show_freshness)


def _show_freshness(graph: Csr, found: Sequence[FreshPoint | NightPoint | NewLinksPoint]) -> None:
    points = [one for one in found if isinstance(one, FreshPoint)]
    nights = [one for one in found if isinstance(one, NightPoint)]
    shares = list(dict.fromkeys(point.share for point in points))
    orders = dict.fromkeys(point.order for point in points)
    show_table(
        "Freshness in % of the best at random moments / unchanged in %, by share read each day",
        ["strategy", "sitemaps", *(f"{share:g}" for share in shares)],
        ([*order, *(_in_percent(one) for one in points if one.order == order)] for order in orders),
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


def _in_percent(point: FreshPoint) -> str:
    return f"{100 * point.freshness / point.best:.0f}/{100 * point.unchanged:.0f}"


# ================================================================ figures
#
# Figures of the experiments as PNG and SVG, with their numbers as CSV.
#
# Law: a figure is written completely or not at all; a half-written one never replaces a good one.

STEADY_RATE = 0.001
"""Rate of change in figure 5: so low that only measurement errors remain."""
WINDOW_SIZES = (
    WindowPolicy("variable", 4),
    WindowPolicy("variable", 8),
    WindowPolicy("variable", 16),
    WindowPolicy("interpolation", 8),
    WindowPolicy("interpolation", 16),
)
WINDOW_TYPES = (
    WindowPolicy("static", 1),
    WindowPolicy("fixed", 19),
    WindowPolicy("improved-fixed", 9),
    WindowPolicy("variable", 8),
    WindowPolicy("interpolation", 8),
    WindowPolicy("adaptive", 8),
)
WINDOW_WIDTHS = {
    "fixed": (5, 9, 14, 19, 28),
    "improved-fixed": (5, 9, 14, 19, 28),
    "variable": (2, 4, 6, 8, 12, 16),
    "interpolation": (8, 12, 16, 19),
    "adaptive": (8, 16),
}
"""Widths in figure 5, each a point: measures stored against error."""
_PERCENTS = tuple(percent / 100 for percent in range(1, 51))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentSize:
    """Size of the experiments."""

    laps: int
    draws: int
    seed: int
    endowment: int
    rates: Sequence[float] = RATES
    warm_ups: Sequence[int] = known.WARM_UPS


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureWebs:
    """Webs of the experiments.

    `known` is for convergence, `watched` for windows while it changes, one per draw, `crawled` for
    the orders of reading.
    """

    known: Csr
    watched: Sequence[Csr]
    crawled: Web


def draw_all(
    out: Path, webs: FigureWebs, settings: ExperimentSize, progress: Progress
) -> list[Path]:
    """Run all experiments, write the figures into the folder, and return the files."""
    prepare(out)
    return [path for panels in _figures(webs, settings, progress) for path in write(out, *panels)]


def _figures(
    webs: FigureWebs, settings: ExperimentSize, progress: Progress
) -> Iterator[Sequence[Figure]]:
    """Yield the panels of each figure."""
    seed, laps = settings.seed, settings.laps
    series = known.convergence(
        webs.known,
        strategies=list(KNOWN_WEB_ORDERS),
        laps=laps,
        seed=seed,
        progress=part(progress, 0, 0.1),
    )
    yield from _convergence_figures(series)
    starts = [Watching(laps=laps, warm_up=warm_up, seed=seed) for warm_up in settings.warm_ups]
    yield from _window_figures(webs.watched, settings.rates, starts, part(progress, 0.1, 0.8))
    crawls = Crawls(
        draws=settings.draws, seed=seed, endowment=settings.endowment, fractions=_PERCENTS
    )
    curves = lab.order(
        webs.crawled,
        orders=list(CRAWL_ORDERS),
        crawls=crawls,
        progress=part(progress, 0.8, 1),
    )
    yield [_order_figure(curves)]


def _convergence_figures(series: Sequence[Series]) -> Iterator[Sequence[Figure]]:
    for figure, pages, error in (
        (2, "all pages", lambda lap: lap.all),
        (3, "important pages", lambda lap: lap.top10),
    ):
        yield [
            Figure(
                name=f"figure-{figure}-convergence-{pages.replace(' ', '-')}",
                title=f"Convergence of OPIC (on {pages})",
                x_label="reads / pages",
                y_label="mean relative error, %",
                lines=[
                    PlotLine(
                        label=curve.label,
                        x=range(1, len(curve.errors) + 1),
                        y=list(map(error, curve.errors)),
                    )
                    for curve in series
                ],
                log_y=True,
            )
        ]


def _window_figures(
    graphs: Sequence[Csr], rates: Sequence[float], starts: Sequence[Watching], progress: Progress
) -> Iterator[Sequence[Figure]]:
    """Draw figures 4 and 6 from one experiment, and figure 5 from another, a panel for each start.

    Figure 5 has more windows, and one rate.
    """
    points = known.drawn_windows(
        graphs,
        policies=list(dict.fromkeys((*WINDOW_SIZES, *WINDOW_TYPES))),
        rates=rates,
        starts=starts,
        progress=part(progress, 0, 0.8),
    )
    steady = known.drawn_windows(
        graphs,
        policies=[
            WindowPolicy(name, size) for name, sizes in WINDOW_WIDTHS.items() for size in sizes
        ],
        rates=[STEADY_RATE],
        starts=starts,
        progress=part(progress, 0.8, 1),
    )
    for figure, what, policies, pages in (
        (4, "size", WINDOW_SIZES, "all"),
        (6, "type", WINDOW_TYPES, "all"),
        (6, "type", WINDOW_TYPES, "top10"),
    ):
        yield [
            Figure(
                name=f"figure-{figure}-window-{what}s" + "-important-pages" * (pages == "top10"),
                title=f"Window {what}s, {_PAGES[pages]}, {_start(start.warm_up)}",
                x_label="pages that change during a lap, %",
                y_label="mean relative error, %",
                lines=[
                    _window_line(str(policy), lambda point: 100 * point.rate, line, pages)
                    for policy in policies
                    if (line := _points(points, start, policy))
                ],
                log_x=True,
                log_y=True,
            )
            for start in starts
        ]
    yield [
        Figure(
            name="figure-5-window-measures",
            title=f"Measures stored, {_start(start.warm_up)} ({100 * STEADY_RATE:g} % change)",
            x_label="measures stored per page",
            y_label="mean relative error of all pages, %",
            lines=[
                _window_line(name, lambda point: point.measures_per_page, line, "all")
                for name in WINDOW_WIDTHS
                if (line := _points(steady, start, name))
            ],
            log_y=True,
        )
        for start in starts
    ]


def _points(
    points: Sequence[WindowPoint], start: Watching, of: WindowPolicy | str
) -> list[WindowPoint]:
    """Return the points from this start of a window, or of all windows of a name."""
    return [
        point
        for point in points
        if point.warm_up == start.warm_up and of in (point.policy, point.policy.name)
    ]


def _window_line(
    label: str, x: Callable[[WindowPoint], float], points: Sequence[WindowPoint], pages: str
) -> PlotLine:
    errors = [point.standard_error for point in points if point.standard_error is not None]
    return PlotLine(
        label=label,
        x=list(map(x, points)),
        y=[getattr(point.errors, pages) for point in points],
        error=[getattr(error, pages) for error in errors] or None,
    )


def _order_figure(curves: Sequence[Curve]) -> Figure:
    return Figure(
        name="figure-7-order",
        title="Importance gathered by a crawl",
        x_label="pages fetched, % of all",
        y_label="importance of the pages fetched, % of all",
        lines=[
            PlotLine(
                label=curve.order,
                x=[100 * share for share in curve.fractions],
                y=[100 * mass for mass in curve.mass],
                error=curve.found.error and [100 * error for error in curve.found.error],
            )
            for curve in curves
        ],
    )


@click.command()
@with_options
@on_a_web(Model.POWER_LAW)
@laps_option
@draws_option
@endowment_option
def figures(
    choice: WebChoice,
    laps: int | None,
    draws: int | None,
    endowment: int | None,
    out: Path = option(
        "Folder for the figures; created if missing.",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        required=True,
    ),
) -> None:
    """Draw figures of convergence, windows and order as PNG and SVG, with their numbers as CSV.

    Windows and order are means over the draws, with standard errors; windows start cold, as in the
    paper, and with full windows.

    Needs matplotlib: install minicrawl with the extra `lab`.
    """
    settings = ExperimentSize(
        laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
        draws=choice.otherwise(draws, DRAWS, QUICK_DRAWS),
        seed=choice.seed,
        endowment=choice.endowment(endowment),
        rates=choice.rates(),
    )
    web = choice.web()
    webs = FigureWebs(
        known=web.graph,
        watched=choice.watched(settings.draws),
        crawled=choice.with_hosts(web),
    )
    with progress("figures") as tell:
        written = draw_all(out, webs, settings, tell)
    for path in written:
        click.echo(path)
