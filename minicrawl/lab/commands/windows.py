"""`minicrawl lab windows`."""

from collections.abc import Sequence
from dataclasses import replace

import click

from minicrawl.cli.options import Number
from minicrawl.cli.output import show_table
from minicrawl.cli.parameters import number, option, with_made, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.config.values.quantities import span_s
from minicrawl.graph.csr import Csr
from minicrawl.lab import changing_webs
from minicrawl.lab.changing_webs import Watching, WindowPoint, WindowPolicy
from minicrawl.lab.commands import web_choice
from minicrawl.lab.webs import Model
from minicrawl.opic.windows.by_name import MEASURED, OF_TIME, WINDOWS
from minicrawl.wording import counted

WIDTH = 8.0
POSITIVE = Number(min=0, min_open=True)
MEASURES: click.ParamType[int] = click.IntRange(min=2)
_HISTORY = "+history"


def _policy(written: str) -> WindowPolicy:
    """Read NAME, NAME=WIDTH or NAME=WIDTH/MEASURES; the width is 0 if it is that of --width."""
    name, equals, size = written.removesuffix(_HISTORY).partition("=")
    if name not in WINDOWS:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(WINDOWS)}")
    width, slash, most = size.partition("/")
    if equals and name == "static":
        raise click.BadParameter("a static window has no width")
    if slash and name not in MEASURED:
        raise click.BadParameter(f"the {name} window keeps no measures")
    is_time = name in OF_TIME and span_s(width)
    return WindowPolicy(
        name,
        width if is_time else POSITIVE(width) if equals else 0.0,
        MEASURES(most) if slash else None,
        written.endswith(_HISTORY),
    )


@click.command()
@with_options
@with_made(
    choice=web_choice.a_web(
        Model.POWER_LAW, web_choice.WATCHED_NODES, web_choice.QUICK_WATCHED_NODES
    )
)
@json_option
def windows(
    choice: web_choice.WebChoice,
    as_json: bool,
    laps: int | None = web_choice.laps_option,
    warm_ups: Sequence[int] = number(
        "Laps before the web changes, starting at the fixpoint, to fill all windows. 0 starts "
        "cold, as in the paper: one unit of cash per page and no history. Repeatable.  "
        f"[default: {', '.join(map(str, changing_webs.WARM_UPS))}]",
        flag="--warm-up",
        least=0,
        multiple=True,
    ),
    policies: Sequence[WindowPolicy] = option(
        "Window, with its width in circulations of all cash (in readings for variable; in time for "
        "fixed=240d, where a lap is a month) and the maximum number of measures per page. With "
        "+history, pages born by --births count as having the mean history of those before them; "
        "repeatable.  [default: all]",
        flag="--policy",
        metavar="NAME[=WIDTH[/MEASURES]][+history]",
        type=_policy,
        multiple=True,
    ),
    small_edge: float | None = web_choice.small_edge_option(None),
    draws: int | None = web_choice.draws_option,
    width: float = option("Width of windows given without one.", WIDTH, metavar="W", type=POSITIVE),
    rates: Sequence[float] = option(
        "Share of the pages that change during a lap; repeatable.  [default: "
        f"{', '.join(map(str, changing_webs.RATES))}]",
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
    chosen = [replace(policy, width=policy.width or width) for policy in policies]
    graphs = choice.watched(choice.otherwise(draws, web_choice.DRAWS, web_choice.QUICK_DRAWS))
    watching = Watching(
        laps=choice.otherwise(laps, web_choice.LAPS, web_choice.QUICK_LAPS),
        warm_up=0,
        births=births,
        small_edge=small_edge,
        seed=choice.seed,
    )
    with progress("windows") as tell:
        points = changing_webs.drawn_windows(
            graphs,
            policies=chosen or changing_webs.POLICIES,
            rates=rates or (web_choice.QUICK_RATES if choice.quick else changing_webs.RATES),
            starts=[replace(watching, warm_up=laps) for laps in warm_ups or changing_webs.WARM_UPS],
            progress=tell,
        )
    web_choice.show(graphs[0], points, as_json, _show_windows)


def _show_windows(graph: Csr, points: Sequence[WindowPoint]) -> None:
    rates = dict.fromkeys(point.rate for point in points)
    for warm_up in dict.fromkeys(point.warm_up for point in points):
        start = start_name(warm_up)
        rows: dict[str, list[WindowPoint]] = {}
        for point in points:
            if point.warm_up == warm_up:
                rows.setdefault(str(point.policy), []).append(point)
        for pages, caption in (("error_all", ""), ("error_top10", web_choice.about(graph))):
            show_table(
                f"Relative error in %, {PAGES_SHOWN[pages]}, {start}, by share that changes",
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


PAGES_SHOWN = {"error_all": "all pages", "error_top10": "important pages"}
"""Pages by their field of `EstimateErrors`."""


def start_name(warm_up: int) -> str:
    return f"after {counted(warm_up, 'lap')}" if warm_up else "cold start"


def _error_cell(point: WindowPoint, pages: str) -> str:
    shown = web_choice.in_percent(getattr(point.errors, pages))
    if point.standard_error is None:
        return shown
    return f"{shown}±{getattr(point.standard_error, pages):.1f}".replace("±0.", "±.")
