"""The figures of the experiments as PNG, and their numbers as CSV beside each.

A figure is there whole or not at all: a half-written one never replaces a good one.
"""

import csv
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from minicrawl.errors import UsageError
from minicrawl.export.drafts import replacing
from minicrawl.graph.csr import Csr
from minicrawl.graph.outline import TAIL, DegreeDistribution
from minicrawl.lab.convergence import Series, convergence
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.order import Crawls, Curve, order
from minicrawl.lab.webs import OF_A_KNOWN_WEB, EstimateErrors, Web
from minicrawl.lab.windows import RATES, Point, Watching, WindowPolicy, windows
from minicrawl.progress import Progress, part
from minicrawl.store.samples import Sample

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


# ================================================================ curves
#
# A crawl in one picture: its curves, the degrees of its pages, and its hosts with their links.
#
# Law: what is not known is not drawn.

MOST_HOSTS = 40
_COLUMNS, _ROWS = 4, 2
_WIDTH, _ROW_HEIGHT = 18.0, 4.2
_HOST_HEIGHT, _LEAST_HEIGHT = 0.2, 3.0
"""Inches. A line of small letters is 0.14 high."""
_DPI = 120
_LONGEST_NAME = 48
_LARGEST_MARK = 60
_TIME = "running time, s"
Samples = Sequence[Sample]
Value = Callable[[Sample], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLinks:
    """The largest hosts by pages, and how many links lead from one to another."""

    pages: Mapping[str, int]
    links: Mapping[tuple[str, str], int]


def draw_crawl(file: Path, title: str, samples: Samples, hosts: HostLinks) -> None:
    """Write the picture; the ending of the name says whether as PNG or SVG."""
    canvas = crawl_picture(title, samples, hosts)
    with replacing(file) as out:
        canvas.savefig(out, format=file.suffix[1:].lower(), dpi=_DPI)
    pyplot().close(canvas)


def crawl_picture(title: str, samples: Samples, hosts: HostLinks) -> Any:
    """Return a figure of pyplot with the curves above and the hosts below."""
    heights = [_ROWS * _ROW_HEIGHT]
    if hosts.pages:
        heights.append(max(_LEAST_HEIGHT, _HOST_HEIGHT * len(hosts.pages)))
    canvas = pyplot().figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    parts = canvas.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    _draw_curves(parts[0], samples)
    for lower in parts[1:]:
        bars, matrix = lower.subplots(1, 2)
        _draw_hosts(bars, matrix, hosts)
    canvas.suptitle(title)
    return canvas


def _draw_curves(part: Any, samples: Samples) -> None:
    places = list(part.subplots(_ROWS, _COLUMNS).flat)
    for place, figure in zip(places, curves(samples), strict=True):
        draw(pyplot(), place, figure)
    last = samples[-1].outline
    for place, found in zip(places[-2:], (last.out_degrees, last.in_degrees), strict=True):
        _draw_fit(place, found)


def curves(samples: Samples) -> list[Figure]:
    """Six curves over time, and two distributions."""
    last = samples[-1].outline
    return [
        _over_time(
            "pages", "pages", samples, known=lambda at: at.known, crawled=lambda at: at.crawled
        ),
        _pace(samples),
        _over_time(
            "importance gathered",
            "share, %",
            samples,
            gathered=lambda at: at.importance_gathered and 100 * at.importance_gathered,
        ),
        _over_time("errors", "pages", samples, errors=lambda at: at.errors),
        _over_time(
            "components",
            "components, pages",
            samples,
            strong=lambda at: at.outline.strong_components,
            weak=lambda at: at.outline.weak_components,
            in_the_largest_strong=lambda at: at.outline.largest_strong,
        ),
        _over_time(
            "distances",
            "links",
            samples,
            diameter=lambda at: at.outline.diameter,
            mean=lambda at: at.outline.mean_distance,
        ),
        _degrees("links from a page", last.out_degrees),
        _degrees("links to a page", last.in_degrees),
    ]


def _over_time(title: str, y_label: str, samples: Samples, **lines: Value) -> Figure:
    return Figure(
        name=title.replace(" ", "-"),
        title=title,
        x_label=_TIME,
        y_label=y_label,
        lines=[_line(label.replace("_", " "), samples, value) for label, value in lines.items()],
    )


def _line(label: str, samples: Samples, value: Value) -> PlotLine:
    points = [(sample.running_s, value(sample)) for sample in samples]
    known = [(x, y) for x, y in points if y is not None]
    return PlotLine(label=label, x=[x for x, _ in known], y=[y for _, y in known])


def _pace(samples: Samples) -> Figure:
    """Pages a second between each two samples."""
    points = [
        (later.running_s, (later.crawled - sooner.crawled) / (later.running_s - sooner.running_s))
        for sooner, later in pairwise(samples)
        if later.running_s > sooner.running_s
    ]
    line = PlotLine(label="crawled", x=[x for x, _ in points], y=[y for _, y in points])
    return Figure(name="pace", title="pace", x_label=_TIME, y_label="pages/s", lines=[line])


def _degrees(title: str, found: DegreeDistribution) -> Figure:
    points = list(found.density())
    return Figure(
        name=title.replace(" ", "-"),
        title=title,
        x_label="links",
        y_label="pages with so many",
        lines=[PlotLine(label="pages", x=[x for x, _ in points], y=[y for _, y in points])],
        log_x=True,
        log_y=True,
        points=True,
    )


def _draw_fit(axes: Any, found: DegreeDistribution) -> None:
    """The power law of the tail."""
    if found.exponent is None:
        return
    least = TAIL - 0.5
    pages = sum(pages for start, pages in found.bins if start >= TAIL)
    height = pages * (found.exponent - 1) / least
    ends = (least, max(found.most, least))
    axes.plot(
        ends,
        [height * (end / least) ** -found.exponent for end in ends],
        linestyle="--",
        label=f"exponent {found.exponent:.2f} ± {found.exponent_error:.2f}",
    )
    axes.legend()


def _draw_hosts(bars: Any, matrix: Any, hosts: HostLinks) -> None:
    """Draw a row for each host, with its number, its name and its pages, and the links from it to
    each other host in the column of that one's number.
    """
    rows = range(1, len(hosts.pages) + 1)
    row_of = dict(zip(hosts.pages, rows, strict=True))
    bars.barh(rows, list(hosts.pages.values()), color="C1")
    names = [f"{_as_label(name)}  {row:>2}" for name, row in row_of.items()]
    bars.set_yticks(rows, names, fontsize="small")
    bars.set(xlabel="pages", ylim=(len(rows) + 0.5, 0.5))
    bars.set_title("largest hosts", loc="left")
    points = [(row_of[target], row_of[source]) for source, target in hosts.links]
    matrix.set(xlabel="to host", ylabel="from host", xlim=(0.5, len(rows) + 0.5))
    matrix.set(ylim=(len(rows) + 0.5, 0.5))
    matrix.set_xticks(rows, rows, fontsize="x-small")
    matrix.set_yticks(rows, rows, fontsize="x-small")
    matrix.set_title("links between them; larger marks are more links", loc="left")
    if points:
        most = math.log1p(max(hosts.links.values()))
        sizes = [_LARGEST_MARK * (math.log1p(links) / most) ** 2 for links in hosts.links.values()]
        matrix.scatter(*zip(*points, strict=True), s=sizes, marker="s")


def _as_label(name: str) -> str:
    """Return a name without its middle if it is long; hosts of a site differ at the beginning."""
    half = _LONGEST_NAME // 2
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[1 - half :]}"
    return shown.replace("$", r"\$")  # what a page is called is no mathematics
