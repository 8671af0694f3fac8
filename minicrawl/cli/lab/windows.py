"""`minicrawl lab windows`."""

from collections.abc import Sequence
from typing import Any

import click

from minicrawl.cli.common.options import Number
from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.tables import show_table
from minicrawl.cli.lab.options import (
    LAPS,
    QUICK_LAPS,
    QUICK_WATCHED_NODES,
    WARM_UP,
    WATCHED_NODES,
    WebChoice,
    about,
    json_option,
    laps_option,
    on_a_web,
    pair,
    show,
    small_edge_option,
)
from minicrawl.graph.csr import Csr
from minicrawl.lab import windows as lab
from minicrawl.lab.webs import Model
from minicrawl.opic.windows import WINDOWS, WITHOUT_MEASURES, WITHOUT_WIDTH

WIDTH = 8.0
POSITIVE = Number(min=0, min_open=True)
MEASURES: click.ParamType[int] = click.IntRange(min=2)


class PolicyType(click.ParamType[tuple[str, float | None, int | None]]):
    """NAME, NAME=WIDTH or NAME=WIDTH/MEASURES; without a width the one of --width counts."""

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
    help="Laps before anything changes, from the fixpoint on, so that every window is full. 0 "
    "begins cold, as the paper does: every page holds one unit and has no history.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=PolicyType(),
    metavar="NAME[=WIDTH[/MEASURES]]",
    help="A window, its width in circulations of all the cash, or in readings for variable, and "
    "the most measures that a page keeps; repeatable.  [default: all]",
)
@click.option(
    "--width",
    metavar="W",
    type=POSITIVE,
    default=WIDTH,
    show_default=True,
    help="The width of policies without one.",
)
@click.option(
    "--rate",
    "rates",
    metavar="R",
    multiple=True,
    type=Number(0, 1),
    help="Share of the pages that change during a lap; repeatable.  "
    f"[default: {', '.join(map(str, lab.RATES))}]",
)
@click.option(
    "--births",
    metavar="R",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the pages that die during a lap. Each is replaced by a new one.",
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
    """Show how the windows follow a web that changes.

    While pages are read, others gain or lose half of the links to them. Errors are relative, in
    percent, over the second half of the laps: of all pages / of the tenth that is most important.
    A measure is an amount of cash and its time.
    """
    chosen = [lab.WindowPolicy(name, own or width, most) for name, own, most in policies]
    graph = choice.web().graph
    with progress("windows") as tell:
        points = lab.windows(
            graph,
            policies=chosen or lab.POLICIES,
            rates=rates or choice.rates(),
            watching=lab.Watching(
                laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
                warm_up=warm_up,
                births=births,
                small_edge=small_edge,
                seed=choice.seed,
            ),
            progress=tell,
        )
    show(graph, points, as_json, _show_windows)


def _show_windows(graph: Csr, points: Sequence[lab.Point]) -> None:
    rates = list(dict.fromkeys(point.rate for point in points))
    rows: dict[str, list[lab.Point]] = {}
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
