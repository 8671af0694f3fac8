"""The figures of the experiments as PNG, and their numbers as CSV beside each.

A figure is there whole or not at all: a half-written one never replaces a good one.
"""

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from minicrawl.errors import UsageError
from minicrawl.export.drafts import replacing
from minicrawl.graph.csr import Csr
from minicrawl.lab.convergence import Series, convergence
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.measure import EstimateErrors
from minicrawl.lab.order import Crawls, Curve, order
from minicrawl.lab.strategies import OF_A_KNOWN_WEB
from minicrawl.lab.webs import Web
from minicrawl.lab.windows import RATES, Point, Watching, WindowPolicy, windows
from minicrawl.progress import Progress, part

STEADY_RATE = 0.001
"""The rate of figure 5: so few changes that errors are those of the measuring itself."""
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
"""Of figure 5, where each is a point: the measures that it needs, and the error that it has."""
_PERCENTS = tuple(percent / 100 for percent in range(1, 51))
_FEW_DECADES = (2, 0.5)
"""Of an axis that is no longer, some places between the powers of ten are named as well."""
_MARKED = 10
"""The points of a longer line are not marked."""
_COLOURS = 10
"""After so many lines the colours begin again, and the lines are dashed."""
_MARKERS = "ox+s"
"""They do not hide each other where points of two lines meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLine:
    """One curve; `error` has the standard errors of y where there are several draws."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] | None = None
    names: Sequence[str] = ()
    """Of a map: the name of each point, or one for the middle of the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What is drawn, before it is drawn."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[PlotLine]
    log_x: bool = False
    log_y: bool = False
    points: bool = False
    """Points alone, without lines between them."""
    is_map: bool = False
    """The first line is points with names; the others join two of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentSize:
    """The size of the experiments."""

    laps: int
    draws: int
    seed: int
    endowment: int
    rates: Sequence[float] = RATES
    warm_up: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureWebs:
    """The webs of the experiments: the estimates are watched on one that is `known`, the windows on
    one that is `watched` while it changes, the orders of reading on one that is `crawled`.
    """

    known: Csr
    watched: Csr
    crawled: Web


def draw_all(
    out: Path, webs: FigureWebs, settings: ExperimentSize, progress: Progress
) -> list[Path]:
    """Run the experiments and write their figures into the folder; the files written."""
    prepare(out)
    return [path for figure in _figures(webs, settings, progress) for path in write(out, figure)]


def write(out: Path, figure: Figure) -> tuple[Path, Path]:
    """Write the numbers of a figure and its picture into a folder; the two files."""
    numbers, picture = out / f"{figure.name}.csv", out / f"{figure.name}.png"
    with replacing(numbers) as file:
        _write_csv(file, figure)
    plot = pyplot()
    canvas, axes = plot.subplots(figsize=(8, 5.5), layout="constrained")
    if figure.is_map:
        _draw_map(axes, figure)
    else:
        draw(plot, axes, figure)
    with replacing(picture) as file:
        canvas.savefig(file, format="png", dpi=120)
    plot.close(canvas)
    return numbers, picture


def pyplot() -> ModuleType:
    """What draws; asked for before there is anything to draw, its absence costs nobody time."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UsageError("figures need matplotlib: pip install 'minicrawl[lab]'") from error
    mpl.use("agg")
    from matplotlib import pyplot as found

    return found


def prepare(out: Path) -> None:
    """Make the folder. Refuses what cannot be drawn before anything is computed."""
    pyplot()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out} for the figures: {error}") from error
    if not os.access(out, os.W_OK):
        raise UsageError(f"cannot write figures into {out}: permission denied")


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
    """Figures 4 and 6 from one run, figure 5 from another: it has more windows, and one rate."""
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
    """The error against the rate of change."""
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
    """What an error costs: windows of one kind, narrow to wide, against what they store."""
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


def _write_csv(file: BinaryIO, figure: Figure) -> None:
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text, lineterminator="\n")
    has_errors = any(line.error for line in figure.lines)
    rows.writerow(["line", figure.x_label, figure.y_label, *(["standard error"] * has_errors)])
    for line in figure.lines:
        columns = (line.x, line.y, *([line.error] if line.error else []))
        rows.writerows((line.label, *row) for row in zip(*columns, strict=True))
    text.detach()


def draw(plot: ModuleType, axes: Any, figure: Figure) -> None:
    """Draw the figure into these axes."""
    for number, line in enumerate(figure.lines):
        (drawn,) = axes.plot(line.x, line.y, label=line.label, **_style(figure, number))
        if line.error:
            ends = [(y - error, y + error) for y, error in zip(line.y, line.error, strict=True)]
            band = {"color": drawn.get_color(), "alpha": 0.2, "linewidth": 0}
            axes.fill_between(line.x, *zip(*ends, strict=True), **band)
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    axes.set_xscale("log" if figure.log_x else "linear")
    axes.set_yscale("log" if figure.log_y else "linear")
    for axis, is_log in ((axes.xaxis, figure.log_x), (axes.yaxis, figure.log_y)):
        if is_log:
            axis.set_major_formatter(plot.FuncFormatter(lambda value, _place: f"{value:g}"))
            axis.set_minor_formatter(plot.LogFormatter(minor_thresholds=_FEW_DECADES))
    if not figure.log_x and all(isinstance(x, int) for line in figure.lines for x in line.x):
        axes.xaxis.set_major_locator(plot.MaxNLocator(integer=True))
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()


def _draw_map(axes: Any, figure: Figure) -> None:
    places, *joining = figure.lines
    for line in joining:
        axes.plot(line.x, line.y, color="0.6", zorder=1)
        middle = (sum(line.x) / len(line.x), sum(line.y) / len(line.y))
        axes.annotate(line.names[0], middle, fontsize="small", backgroundcolor="white")
    axes.scatter(places.x, places.y, s=300, zorder=2)
    for name, x, y in zip(places.names, places.x, places.y, strict=True):
        axes.annotate(name, (x, y), ha="center", va="center", color="white", zorder=3)
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    axes.set_aspect("equal", adjustable="datalim")


def _style(figure: Figure, number: int) -> dict[str, Any]:
    if figure.points:
        return {"marker": _MARKERS[number % len(_MARKERS)], "fillstyle": "none", "linestyle": ""}
    return {
        "marker": "." if len(figure.lines[number].x) <= _MARKED else None,
        "linestyle": "-" if number < _COLOURS else "--",
    }
