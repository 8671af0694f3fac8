"""`minicrawl lab`: the experiments' options, and their numbers as tables or JSON."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from minicrawl.cli.common.options import Number
from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import graph_option
from minicrawl.cli.common.tables import show_json, show_table
from minicrawl.graph.csr import MOST_NODES, Csr
from minicrawl.graph.synthetic import SyntheticWeb
from minicrawl.lab import convergence as converging
from minicrawl.lab import figures as drawing
from minicrawl.lab import order as ordering
from minicrawl.lab import webs
from minicrawl.lab import windows as watching
from minicrawl.lab.measure import EstimateErrors
from minicrawl.opic.windows import WINDOWS

Command = Callable[..., Any]


class Numbers(Protocol):
    """A curve or a point of one."""

    def as_json(self) -> dict[str, object]:
        """Its numbers by their names."""


T = TypeVar("T", bound=Numbers)

NODES, QUICK_NODES = 100_000, 10_000
LAPS, QUICK_LAPS = 10, 5
DRAWS, QUICK_DRAWS = 6, 3
ENDOWMENT, ENDOWMENT_OF_NOBODY = 1000, 0
QUICK_RATES = (0.01, 0.1)
SHOWN_LAPS = (1, 2, 3, 5, 10)
WIDTH = 8.0
_TWO_DIGITS = 9.95


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WebChoice:
    """Which web the user wants the experiment to run on, and how long it may take."""

    nodes: int | None
    seed: int
    model: webs.Model
    graph: Path | None
    quick: bool

    def __post_init__(self) -> None:
        if self.graph and self.nodes:
            raise click.UsageError("--nodes is for a synthetic web: leave it out with --graph")

    def web(self) -> SyntheticWeb:
        return webs.web_from_file(self.graph) if self.graph else self._synthetic(self.model)

    def with_hosts(self, web: SyntheticWeb) -> SyntheticWeb:
        """The same, or one with hosts in place of a synthetic one that may have none."""
        return web if self.graph else self._synthetic(webs.Model.COPYING)

    def otherwise(self, value: int | None, usual: int, when_quick: int) -> int:
        """The user's own value, or what is usual."""
        return value or (when_quick if self.quick else usual)

    def endowment(self, units: int | None) -> int:
        """The user's own, or what suits: somebody vouches for seeds in a real web only."""
        if units is not None:
            return units
        return ENDOWMENT if self.graph else ENDOWMENT_OF_NOBODY

    def _synthetic(self, model: webs.Model) -> SyntheticWeb:
        nodes = self.otherwise(self.nodes, NODES, QUICK_NODES)
        return webs.synthetic_web(model, nodes, self.seed)


def on_a_web(model: webs.Model) -> Callable[[Command], Command]:
    """Options that say which web; the command gets them together as `choice`."""
    options = (
        click.option(
            "--nodes",
            metavar="N",
            type=click.IntRange(min=2, max=MOST_NODES),
            help=f"Pages of the synthetic web.  [default: {NODES:,}; {QUICK_NODES:,} with --quick]",
        ),
        click.option(
            "--web",
            "model",
            type=click.Choice([model.value for model in webs.Model]),
            default=model.value,
            show_default=True,
            help="The kind of synthetic web.",
        ),
        graph_option,
        click.option(
            "--seed",
            metavar="N",
            type=click.IntRange(min=0),
            default=1,
            show_default=True,
            help="Whatever is drawn is drawn from this: same seed, same numbers.",
        ),
        click.option("--quick", is_flag=True, help="A small web and few laps: a first look."),
    )

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_choice(
            nodes: int | None, model: str, graph: Path | None, seed: int, quick: bool, **rest: Any
        ) -> None:
            choice = WebChoice(
                nodes=nodes, seed=seed, model=webs.Model(model), graph=graph, quick=quick
            )
            command(choice=choice, **rest)

        decorated: Command = with_choice
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


laps_option = click.option(
    "--laps",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Reads a page on average.  [default: {LAPS}; {QUICK_LAPS} with --quick]",
)
endowment_option = click.option(
    "--endowment",
    metavar="UNITS",
    type=click.IntRange(min=0, max=1 << 30),
    help="Cash that the seeds of a crawl share.  "
    f"[default: {ENDOWMENT:,}; {ENDOWMENT_OF_NOBODY} in a synthetic web]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Numbers for programs.")


@click.group()
def lab() -> None:
    """Run the experiments that show how the algorithm behaves.

    They run the crawler's own ledger, windows and orders of reading.
    """


@lab.command()
@on_a_web(webs.Model.POWER_LAW)
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
    choice: WebChoice, laps: int | None, strategies: Sequence[str], as_json: bool
) -> None:
    """Show how fast the estimates approach the true importance.

    The pages of a web that is known as a whole are read lap after lap. Errors are relative, in
    percent: of all pages / of the tenth that is most important.
    """
    graph = choice.web().graph
    with progress("convergence") as tell:
        series = converging.convergence(
            graph,
            strategies=strategies or list(converging.STRATEGIES),
            laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
            seed=choice.seed,
            progress=tell,
        )
    _show(graph, series, as_json, _show_convergence)


@lab.command()
@on_a_web(webs.Model.POWER_LAW)
@laps_option
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=PolicyType(),
    metavar="NAME[=WIDTH]",
    help="A window and its width in turns of all the cash, or in measures for variable; "
    "repeatable.  [default: all]",
)
@click.option(
    "--width",
    metavar="W",
    type=POSITIVE,
    default=WIDTH,
    show_default=True,
    help="The width of policies that name none.",
)
@click.option(
    "--rate",
    "rates",
    metavar="R",
    multiple=True,
    type=Number(0, 1),
    help="Share of the pages that change during a lap; repeatable.  "
    f"[default: {', '.join(map(str, watching.RATES))}]",
)
@json_option
def windows(
    choice: WebChoice,
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
    chosen = [watching.WindowPolicy(name, own or width) for name, own in policies or POLICIES]
    graph = choice.web().graph
    with progress("windows") as tell:
        points = watching.windows(
            graph,
            policies=chosen,
            rates=rates or _usual_rates(choice),
            laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
            seed=choice.seed,
            progress=tell,
        )
    _show(graph, points, as_json, _show_windows)


@lab.command()
@on_a_web(webs.Model.COPYING)
@click.option(
    "--strategy",
    "orders",
    multiple=True,
    metavar="NAME",
    type=click.Choice(list(ordering.ORDERS)),
    help=f"{', '.join(ordering.ORDERS)}; repeatable.  [default: all]",
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
        curves = ordering.order(
            web,
            orders=orders or list(ordering.ORDERS),
            crawls=ordering.Crawls(
                draws=choice.otherwise(draws, DRAWS, QUICK_DRAWS),
                seed=choice.seed,
                endowment=choice.endowment(endowment),
            ),
            progress=tell,
        )
    _show(web.graph, curves, as_json, _show_order)


@lab.command()
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder for the figures; made if it is not there.",
)
@on_a_web(webs.Model.POWER_LAW)
@laps_option
@endowment_option
def figures(choice: WebChoice, out: Path, laps: int | None, endowment: int | None) -> None:
    """Draw all figures as PNG, with the numbers as CSV beside each.

    Needs matplotlib: install minicrawl with the extra `lab`.
    """
    settings = drawing.ExperimentSize(
        laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
        draws=choice.otherwise(None, DRAWS, QUICK_DRAWS),
        seed=choice.seed,
        endowment=choice.endowment(endowment),
        rates=_usual_rates(choice),
    )
    web = choice.web()
    with progress("figures") as tell:
        written = drawing.draw_all(out, web.graph, choice.with_hosts(web), settings, tell)
    for path in written:
        click.echo(path)


def _usual_rates(choice: WebChoice) -> Sequence[float]:
    return QUICK_RATES if choice.quick else watching.RATES


def _show(
    graph: Csr, series: Sequence[T], as_json: bool, show: Callable[[Csr, Sequence[T]], None]
) -> None:
    if as_json:
        size = {"nodes": graph.nodes, "edges": graph.edges}
        show_json({"graph": size, "series": [one.as_json() for one in series]})
    else:
        show(graph, series)


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


def _pair(found: EstimateErrors) -> str:
    return f"{_percent(found.all)}/{_percent(found.top10)}"


def _percent(error: float) -> str:
    """Two digits that count, one behind the point at most."""
    return f"{error:.0f}" if error >= _TWO_DIGITS else f"{error:.1f}"
