"""`minicrawl lab`: the experiments' options, and their numbers as tables or JSON."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from minicrawl.cli.progress import progress
from minicrawl.cli.tables import show_json, show_table
from minicrawl.graph.csr import Csr
from minicrawl.graph.synthetic import Web
from minicrawl.lab import convergence as converging
from minicrawl.lab import figures as drawing
from minicrawl.lab import order as ordering
from minicrawl.lab import webs
from minicrawl.lab import windows as watching
from minicrawl.lab.measure import Errors
from minicrawl.opic.windows import WINDOWS

Command = Callable[..., Any]

NODES, QUICK_NODES = 100_000, 10_000
LAPS, QUICK_LAPS = 10, 5
DRAWS, QUICK_DRAWS = 6, 3
QUICK_RATES = (0.01, 0.1)
SHOWN_LAPS = (1, 2, 3, 5, 10)
_TWO_DIGITS = 9.95
WIDTH = 8.0


class Number(click.FloatRange):
    """A number within bounds, which nan and infinity are not."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a number of the range", param, ctx)
        return number


class PolicyType(click.ParamType[tuple[str, float | None]]):
    """NAME or NAME=WIDTH; without a width the one of --width counts."""

    name = "policy"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float | None]:
        name, equals, width = str(value).partition("=")
        if name not in WINDOWS:
            self.fail(f"{name!r} is not one of {', '.join(WINDOWS)}", param, ctx)
        return name, POSITIVE.convert(width, param, ctx) if equals else None


POSITIVE = Number(min=0, min_open=True)
POLICIES = (
    ("static", None),
    ("fixed", None),
    ("improved-fixed", None),
    ("variable", None),
    ("variable", 16.0),
    ("interpolation", None),
)


def web_options(model: webs.Model) -> Callable[[Command], Command]:
    """Which web the experiment runs on."""
    options = (
        click.option(
            "--nodes",
            type=click.IntRange(min=2, max=1 << 31),
            help=f"Pages of the synthetic web.  [default: {NODES:,}; {QUICK_NODES:,} with --quick]",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=1,
            show_default=True,
            help="Whatever is drawn is drawn from this: same seed, same numbers.",
        ),
        click.option(
            "--web",
            "model",
            type=click.Choice(list(webs.Model)),
            default=model,
            show_default=True,
            help="The kind of synthetic web.",
        ),
        click.option(
            "--graph",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A real graph instead: two page ids a line, # comments, plain or .gz.",
        ),
        click.option("--quick", is_flag=True, help="A small web and few laps, in seconds."),
    )
    return _all_of(options)


def _all_of(options: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


laps_option = click.option(
    "--laps",
    type=click.IntRange(min=1),
    help=f"Reads a page on average.  [default: {LAPS}; {QUICK_LAPS} with --quick]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Numbers for programs.")


@click.group()
def lab() -> None:
    """Run the experiments that show how the algorithm behaves.

    They run the crawler's own ledger, windows and orders of reading.
    """


@lab.command()
@web_options(webs.Model.POWER_LAW)
@laps_option
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    type=click.Choice(list(converging.STRATEGIES)),
    help="An order of reading; repeatable.  [default: all]",
)
@json_option
def convergence(
    nodes: int | None,
    seed: int,
    model: webs.Model,
    graph: Path | None,
    quick: bool,
    laps: int | None,
    strategies: Sequence[str],
    as_json: bool,
) -> None:
    """Show how fast the estimates approach the true importance.

    The pages of a web that is known as a whole are read lap after lap. Errors are relative, in
    percent: of all pages / of the tenth that is most important.
    """
    web = _web(nodes, seed, model, graph, quick)
    with progress("convergence") as tell:
        series = converging.convergence(
            web.graph,
            strategies=strategies or list(converging.STRATEGIES),
            laps=laps or (QUICK_LAPS if quick else LAPS),
            seed=seed,
            progress=tell,
        )
    if as_json:
        show_json({"graph": _size(web.graph), "series": [curve.as_json() for curve in series]})
    else:
        _show_convergence(web.graph, series)


@lab.command()
@web_options(webs.Model.POWER_LAW)
@laps_option
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=PolicyType(),
    metavar="NAME[=WIDTH]",
    help="A window and its width in turns of all the cash, or in measures for "
    "variable; repeatable.  [default: all]",
)
@click.option(
    "--width",
    type=POSITIVE,
    default=WIDTH,
    show_default=True,
    help="The width of policies that name none.",
)
@click.option(
    "--rate",
    "rates",
    multiple=True,
    type=Number(0, 1),
    help="Share of the pages that change during a lap; repeatable.  "
    f"[default: {', '.join(map(str, watching.RATES))}]",
)
@json_option
def windows(
    nodes: int | None,
    seed: int,
    model: webs.Model,
    graph: Path | None,
    quick: bool,
    laps: int | None,
    policies: Sequence[tuple[str, float | None]],
    width: float,
    rates: Sequence[float],
    as_json: bool,
) -> None:
    """Show how the windows follow a web that changes.

    While pages are read, others gain or lose half of the links to them. Errors are relative, in
    percent, at the end: of all pages / of the tenth that is most important.
    """
    chosen = [watching.Policy(name, own or width) for name, own in policies or POLICIES]
    web = _web(nodes, seed, model, graph, quick)
    with progress("windows") as tell:
        points = watching.windows(
            web.graph,
            policies=chosen,
            rates=rates or (QUICK_RATES if quick else watching.RATES),
            laps=laps or (QUICK_LAPS if quick else LAPS),
            seed=seed,
            progress=tell,
        )
    if as_json:
        show_json({"graph": _size(web.graph), "series": [point.as_json() for point in points]})
    else:
        _show_windows(web.graph, points)


@lab.command()
@web_options(webs.Model.COPYING)
@click.option(
    "--strategy",
    "orders",
    multiple=True,
    type=click.Choice(list(ordering.ORDERS)),
    help="An order of reading; repeatable.  [default: all]",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    help="The curves are the mean over so many draws of ten seeds.  "
    f"[default: {DRAWS}; {QUICK_DRAWS} with --quick]",
)
@json_option
def order(
    nodes: int | None,
    seed: int,
    model: webs.Model,
    graph: Path | None,
    quick: bool,
    orders: Sequence[str],
    draws: int | None,
    as_json: bool,
) -> None:
    """Show which order of reading finds the important pages first.

    A crawl from ten random pages, which knows what it has read and no more. The numbers are the
    share of all importance that the pages fetched so far hold.
    """
    web = _web(nodes, seed, model, graph, quick)
    with progress("order") as tell:
        curves = ordering.order(
            web,
            orders=orders or list(ordering.ORDERS),
            draws=draws or (QUICK_DRAWS if quick else DRAWS),
            seed=seed,
            progress=tell,
        )
    if as_json:
        show_json({"graph": _size(web.graph), "series": [curve.as_json() for curve in curves]})
    else:
        _show_order(web.graph, curves)


@lab.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder for the figures; made if it is not there.",
)
@web_options(webs.Model.POWER_LAW)
@laps_option
def figures(
    out: Path,
    nodes: int | None,
    seed: int,
    model: webs.Model,
    graph: Path | None,
    quick: bool,
    laps: int | None,
) -> None:
    """Draw all figures as PNG, with the numbers as CSV beside each.

    Needs matplotlib: install minicrawl with the extra `lab`.
    """
    web = _web(nodes, seed, model, graph, quick)
    crawled = web if graph else _web(nodes, seed, webs.Model.COPYING, None, quick)
    settings = drawing.Settings(
        laps=laps or (QUICK_LAPS if quick else LAPS),
        draws=QUICK_DRAWS if quick else DRAWS,
        seed=seed,
        rates=QUICK_RATES if quick else watching.RATES,
    )
    with progress("figures") as tell:
        drawn = drawing.draw_all(out, web.graph, crawled, settings, tell)
    for path in drawn:
        click.echo(path)


def _web(nodes: int | None, seed: int, model: webs.Model, graph: Path | None, quick: bool) -> Web:
    if graph is None:
        return webs.synthetic_web(model, nodes or (QUICK_NODES if quick else NODES), seed)
    if nodes is not None:
        raise click.UsageError("--nodes is for a synthetic web: leave it out with --graph")
    return webs.web_from_file(graph)


def _size(graph: Csr) -> dict[str, int]:
    return {"nodes": graph.nodes, "edges": graph.edges}


def _show_convergence(graph: Csr, series: Sequence[converging.Series]) -> None:
    laps = [lap for lap in SHOWN_LAPS if lap <= len(series[0].errors)]
    show_table(
        "Relative error in %, all pages / top 10 %, after so many laps",
        ["strategy, estimator", *map(str, laps), "n x cash", "G"],
        (
            [curve.label]
            + [_pair(curve.errors[lap - 1]) for lap in laps]
            + ["" if curve.cash_when_read is None else f"{curve.cash_when_read:.2f}"]
            + [f"{curve.g[-1]:.1f}"]
            for curve in series
        ),
        _about(graph),
    )


def _show_windows(graph: Csr, points: Sequence[watching.Point]) -> None:
    rates = list(dict.fromkeys(point.rate for point in points))
    rows: dict[str, list[watching.Point]] = {}
    for point in points:
        rows.setdefault(str(point.policy), []).append(point)
    show_table(
        "Relative error in %, all pages / top 10 %, by share of pages that change",
        ["policy", *(f"{rate:.3g}" for rate in rates), "measures"],
        (
            [name, *(_pair(point.errors) for point in found), f"{found[-1].measures_per_page:.1f}"]
            for name, found in rows.items()
        ),
        _about(graph),
    )


def _show_order(graph: Csr, curves: Sequence[ordering.Curve]) -> None:
    show_table(
        "Share of all importance on the pages fetched, by share of pages fetched",
        ["order", *(f"{share:.0%}" for share in curves[0].fractions)],
        ([curve.order, *(f"{mass:.3f}" for mass in curve.mass)] for curve in curves),
        _about(graph),
    )


def _about(graph: Csr) -> str:
    return f"{graph.nodes:,} pages, {graph.edges:,} links"


def _pair(found: Errors) -> str:
    return f"{_percent(found.all)}/{_percent(found.top10)}"


def _percent(error: float) -> str:
    """Two digits that count, one behind the point at most."""
    return f"{error:.0f}" if error >= _TWO_DIGITS else f"{error:.1f}"
