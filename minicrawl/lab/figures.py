"""Figures of the experiments as PNG, with their numbers as CSV.

Law: a figure is written completely or not at all; a half-written one never replaces a good one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minicrawl.graph.csr import Csr
from minicrawl.lab.convergence import Series, convergence
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.order import Crawls, Curve, order
from minicrawl.lab.webs import OF_A_KNOWN_WEB, EstimateErrors, Web
from minicrawl.lab.windows import RATES, Point, Watching, WindowPolicy, windows
from minicrawl.progress import Progress, part
from minicrawl.report.formats import Figure, PlotLine, prepare, write

STEADY_RATE = 0.001
"""Rate of change in figure 5: so low that only errors of measurement remain."""
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
    warm_up: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureWebs:
    """Webs of the experiments.

    Estimates converge on `known`, windows watch `watched` while it changes, and the orders of
    reading crawl `crawled`.
    """

    known: Csr
    watched: Csr
    crawled: Web


def draw_all(
    out: Path, webs: FigureWebs, settings: ExperimentSize, progress: Progress
) -> list[Path]:
    """Run all experiments, write the figures into the folder, and return the files."""
    prepare(out)
    return [path for figure in _figures(webs, settings, progress) for path in write(out, figure)]


def _figures(webs: FigureWebs, settings: ExperimentSize, progress: Progress) -> Iterator[Figure]:
    seed, laps = settings.seed, settings.laps
    series = convergence(
        webs.known,
        strategies=list(OF_A_KNOWN_WEB),
        laps=laps,
        seed=seed,
        progress=part(progress, 0, 0.1),
    )
    yield from _convergence_figures(series)
    watching = Watching(laps=laps, warm_up=settings.warm_up, seed=seed)
    yield from _window_figures(webs.watched, settings.rates, watching, part(progress, 0.1, 0.8))
    crawls = Crawls(
        draws=settings.draws, seed=seed, endowment=settings.endowment, fractions=_PERCENTS
    )
    curves = order(
        webs.crawled,
        orders=list(OF_AN_UNKNOWN_WEB),
        crawls=crawls,
        progress=part(progress, 0.8, 1),
    )
    yield _order_figure(curves)


def _convergence_figures(series: Sequence[Series]) -> Iterator[Figure]:
    for number, pages, error in (
        (2, "all pages", lambda lap: lap.all),
        (3, "important pages", lambda lap: lap.top10),
    ):
        yield Figure(
            name=f"figure-{number}-convergence-{pages.replace(' ', '-')}",
            title=f"Convergence of OPIC (on {pages})",
            x_label="reads / pages",
            y_label="mean relative error, %",
            lines=[_convergence_line(curve, error) for curve in series],
            log_y=True,
        )


def _convergence_line(series: Series, error: Callable[[EstimateErrors], float]) -> PlotLine:
    laps = range(1, len(series.errors) + 1)
    return PlotLine(label=series.label, x=laps, y=[error(lap) for lap in series.errors])


def _window_figures(
    graph: Csr, rates: Sequence[float], watching: Watching, progress: Progress
) -> Iterator[Figure]:
    """Draw figures 4 and 6 from one run, and figure 5 from another.

    Figure 5 has more windows, and one rate.
    """
    shown = list(dict.fromkeys((*WINDOW_SIZES, *WINDOW_TYPES)))
    points = windows(
        graph, policies=shown, rates=rates, watching=watching, progress=part(progress, 0, 0.8)
    )
    every = [WindowPolicy(name, width) for name in WINDOW_WIDTHS for width in WINDOW_WIDTHS[name]]
    steady = windows(
        graph,
        policies=every,
        rates=[STEADY_RATE],
        watching=watching,
        progress=part(progress, 0.8, 1),
    )
    yield _rate_figure(4, "size", points, WINDOW_SIZES)
    yield _measures_figure(steady)
    yield _rate_figure(6, "type", points, WINDOW_TYPES)
    yield _rate_figure(6, "type", points, WINDOW_TYPES, is_of_top=True)


def _rate_figure(
    number: int,
    what: str,
    points: Sequence[Point],
    policies: Sequence[WindowPolicy],
    *,
    is_of_top: bool = False,
) -> Figure:
    """Plot error against rate of change."""
    pages = "important pages" if is_of_top else "all pages"
    return Figure(
        name=f"figure-{number}-window-{what}s" + ("-important-pages" if is_of_top else ""),
        title=f"Influence of the window's {what} (on {pages})",
        x_label="pages that change during a lap, %",
        y_label="mean relative error, %",
        lines=[_window_line(points, policy, is_of_top=is_of_top) for policy in policies],
        log_x=True,
        log_y=True,
    )


def _window_line(points: Sequence[Point], policy: WindowPolicy, *, is_of_top: bool) -> PlotLine:
    found = [point for point in points if point.policy == policy]
    return PlotLine(
        label=str(policy),
        x=[100 * point.rate for point in found],
        y=[point.errors.top10 if is_of_top else point.errors.all for point in found],
    )


def _measures_figure(points: Sequence[Point]) -> Figure:
    """Plot error against stored measures, one line per kind of window."""
    by_kind = {
        name: [point for point in points if point.policy.name == name] for name in WINDOW_WIDTHS
    }
    return Figure(
        name="figure-5-window-measures",
        title=f"Measures stored for an error (on all pages, {100 * STEADY_RATE:g} % change a lap)",
        x_label="measures stored per page",
        y_label="mean relative error, %",
        lines=[
            PlotLine(
                label=name,
                x=[point.measures_per_page for point in found],
                y=[point.errors.all for point in found],
            )
            for name, found in by_kind.items()
        ],
        log_y=True,
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
