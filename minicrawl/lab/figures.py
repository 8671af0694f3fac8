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
from minicrawl.lab.windows import RATES, Point, WindowPolicy, windows
from minicrawl.progress import Progress, part

WINDOW_SIZES = tuple(WindowPolicy("variable", size) for size in (2, 4, 8, 16, 32))
POLICIES = tuple(
    WindowPolicy(name, 8)
    for name in ("static", "fixed", "improved-fixed", "variable", "interpolation")
)
_PERCENTS = tuple(percent / 100 for percent in range(1, 51))
_MARKED = 10
"""The points of a longer line are not marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLine:
    """One curve."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentSize:
    """The size of the experiments."""

    laps: int
    draws: int
    seed: int
    endowment: int
    rates: Sequence[float] = RATES


def draw_all(
    out: Path, graph: Csr, crawled: Web, settings: ExperimentSize, progress: Progress
) -> list[Path]:
    """Run the experiments and write their figures into the folder; the files written.

    The estimates are watched on `graph`, the orders of reading on `crawled`.
    """
    pyplot()
    _prepare(out)
    written = []
    for figure in _figures(graph, crawled, settings, progress):
        numbers, picture = out / f"{figure.name}.csv", out / f"{figure.name}.png"
        with replacing(numbers) as file:
            _write_csv(file, figure)
        draw(picture, [figure])
        written += [numbers, picture]
    return written


def draw(picture: Path, figures: Sequence[Figure]) -> None:
    """The figures side by side in one PNG."""
    plot = pyplot()
    canvas, axes = plot.subplots(
        1, len(figures), figsize=(8 * len(figures), 5.5), layout="constrained", squeeze=False
    )
    for place, figure in zip(axes.flat, figures, strict=True):
        _draw(plot, place, figure)
    with replacing(picture) as file:
        canvas.savefig(file, format="png", dpi=120)
    plot.close(canvas)


def pyplot() -> ModuleType:
    """What draws; asked for before there is anything to draw, its absence costs nobody time."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UsageError("figures need matplotlib: pip install 'minicrawl[lab]'") from error
    mpl.use("agg")
    from matplotlib import pyplot as found

    return found


def _prepare(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out} for the figures: {error}") from error
    if not os.access(out, os.W_OK):
        raise UsageError(f"cannot write figures into {out}: permission denied")


def _figures(
    graph: Csr, crawled: Web, settings: ExperimentSize, progress: Progress
) -> Iterator[Figure]:
    seed, laps = settings.seed, settings.laps
    series = convergence(
        graph,
        strategies=list(OF_A_KNOWN_WEB),
        laps=laps,
        seed=seed,
        progress=part(progress, 0, 0.1),
    )
    yield from _convergence_figures(series)
    points = windows(
        graph,
        policies=[*POLICIES, *(size for size in WINDOW_SIZES if size not in POLICIES)],
        rates=settings.rates,
        laps=laps,
        seed=seed,
        progress=part(progress, 0.1, 0.8),
    )
    yield from _window_figures(points)
    crawls = Crawls(
        draws=settings.draws, seed=seed, endowment=settings.endowment, fractions=_PERCENTS
    )
    curves = order(
        crawled, orders=list(OF_AN_UNKNOWN_WEB), crawls=crawls, progress=part(progress, 0.8, 1)
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


def _window_figures(points: Sequence[Point]) -> Iterator[Figure]:
    for number, what, policies, error in (
        (4, "sizes", WINDOW_SIZES, lambda found: found.all),
        (5, "types", POLICIES, lambda found: found.all),
        (6, "types-important-pages", POLICIES, lambda found: found.top10),
    ):
        pages = "important pages" if what.endswith("pages") else "all pages"
        yield Figure(
            name=f"figure-{number}-window-{what}",
            title=f"Influence of the window's {what.split('-')[0][:-1]} (on {pages})",
            x_label="pages that change during a lap, %",
            y_label="mean relative error, %",
            lines=[_window_line(points, policy, error) for policy in policies],
            log_x=True,
            log_y=True,
        )


def _window_line(
    points: Sequence[Point], policy: WindowPolicy, error: Callable[[EstimateErrors], float]
) -> PlotLine:
    found = [point for point in points if point.policy == policy]
    return PlotLine(
        label=str(policy),
        x=[100 * point.rate for point in found],
        y=[error(point.errors) for point in found],
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
            )
            for curve in curves
        ],
    )


def _write_csv(file: BinaryIO, figure: Figure) -> None:
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["line", figure.x_label, figure.y_label])
    for line in figure.lines:
        rows.writerows((line.label, x, y) for x, y in zip(line.x, line.y, strict=True))
    text.detach()


def _draw(plot: ModuleType, axes: Any, figure: Figure) -> None:
    for line in figure.lines:
        axes.plot(line.x, line.y, marker="." if len(line.x) <= _MARKED else None, label=line.label)
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    axes.set_xscale("log" if figure.log_x else "linear")
    axes.set_yscale("log" if figure.log_y else "linear")
    for axis, is_log in ((axes.xaxis, figure.log_x), (axes.yaxis, figure.log_y)):
        if is_log:
            axis.set_major_formatter(plot.LogFormatter())
            axis.set_minor_formatter(plot.LogFormatter())
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
