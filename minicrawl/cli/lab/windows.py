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
    WebChoice,
    about,
    json_option,
    laps_option,
    on_a_web,
    pair,
    show,
)
from minicrawl.graph.csr import Csr
from minicrawl.lab import windows as lab
from minicrawl.lab.webs import Model
from minicrawl.opic.windows import WINDOWS

WIDTH = 8.0
POSITIVE = Number(min=0, min_open=True)
POLICIES = (
    ("static", None),
    ("fixed", None),
    ("improved-fixed", None),
    ("variable", None),
    ("variable", 16.0),
    ("interpolation", None),
)


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


@click.command()
@on_a_web(Model.POWER_LAW)
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
    f"[default: {', '.join(map(str, lab.RATES))}]",
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
    chosen = [lab.WindowPolicy(name, own or width) for name, own in policies or POLICIES]
    graph = choice.web().graph
    with progress("windows") as tell:
        points = lab.windows(
            graph,
            policies=chosen,
            rates=rates or choice.rates(),
            laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
            seed=choice.seed,
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
