"""Figures of the paper from the experiments, as PNG and SVG, with their numbers as CSV.

    python -m tests.bench.figures --nodes 800 --draws 3 --out figures

Law: a figure is written completely or not at all; a half-written one never replaces a good one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from minicrawl.cli.parameters import option, with_made, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.graph.csr import Csr
from minicrawl.lab import changing_webs, importance_curves
from minicrawl.lab.changing_webs import RATES, Watching, WindowPoint, WindowPolicy
from minicrawl.lab.commands.web_choice import (
    DRAWS,
    LAPS,
    QUICK_DRAWS,
    QUICK_LAPS,
    QUICK_RATES,
    WebChoice,
    a_web,
    draws_option,
    endowment_option,
    laps_option,
)
from minicrawl.lab.commands.windows import PAGES_SHOWN, start_name
from minicrawl.lab.convergence import Series, convergence
from minicrawl.lab.importance_curves import Crawls, Curve
from minicrawl.lab.known_webs import KNOWN_WEB_ORDERS
from minicrawl.lab.reading_orders import CRAWL_ORDERS
from minicrawl.lab.webs import Model, Web
from minicrawl.ports import Progress, part
from minicrawl.report.files.figures import Figure, PlotLine
from tests.bench.figure_files import prepare, write

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
    warm_ups: Sequence[int] = changing_webs.WARM_UPS


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
    series = convergence(
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
    curves = importance_curves.order(
        webs.crawled,
        orders=list(CRAWL_ORDERS),
        crawls=crawls,
        progress=part(progress, 0.8, 1),
    )
    yield [_order_figure(curves)]


def _convergence_figures(series: Sequence[Series]) -> Iterator[Sequence[Figure]]:
    for figure, pages, error in (
        (2, "all pages", lambda lap: lap.error_all),
        (3, "important pages", lambda lap: lap.error_top10),
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
    points = changing_webs.drawn_windows(
        graphs,
        policies=list(dict.fromkeys((*WINDOW_SIZES, *WINDOW_TYPES))),
        rates=rates,
        starts=starts,
        progress=part(progress, 0, 0.8),
    )
    steady = changing_webs.drawn_windows(
        graphs,
        policies=[
            WindowPolicy(name, size) for name, sizes in WINDOW_WIDTHS.items() for size in sizes
        ],
        rates=[STEADY_RATE],
        starts=starts,
        progress=part(progress, 0.8, 1),
    )
    for figure, what, policies, pages in (
        (4, "size", WINDOW_SIZES, "error_all"),
        (6, "type", WINDOW_TYPES, "error_all"),
        (6, "type", WINDOW_TYPES, "error_top10"),
    ):
        yield [
            Figure(
                name=f"figure-{figure}-window-{what}s"
                + "-important-pages" * (pages == "error_top10"),
                title=f"Window {what}s, {PAGES_SHOWN[pages]}, {start_name(start.warm_up)}",
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
            title=f"Measures stored, {start_name(start.warm_up)} ({100 * STEADY_RATE:g} % change)",
            x_label="measures stored per page",
            y_label="mean relative error of all pages, %",
            lines=[
                _window_line(name, lambda point: point.measures_per_page, line, "error_all")
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
                error=curve.gathered.error and [100 * error for error in curve.gathered.error],
            )
            for curve in curves
        ],
    )


@click.command()
@with_options
@with_made(choice=a_web(Model.POWER_LAW))
def main(
    choice: WebChoice,
    laps: int | None = laps_option,
    draws: int | None = draws_option,
    endowment: int | None = endowment_option,
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
    """
    settings = ExperimentSize(
        laps=choice.otherwise(laps, LAPS, QUICK_LAPS),
        draws=choice.otherwise(draws, DRAWS, QUICK_DRAWS),
        seed=choice.seed,
        endowment=choice.endowment(endowment),
        rates=QUICK_RATES if choice.quick else RATES,
    )
    web = choice.web()
    webs = FigureWebs(
        known=web.graph,
        watched=choice.watched(settings.draws),
        crawled=web if choice.graph else replace(choice, model=Model.COPYING).web(),
    )
    with progress("figures") as tell:
        written = draw_all(out, webs, settings, tell)
    for path in written:
        click.echo(path)


if __name__ == "__main__":
    main()
