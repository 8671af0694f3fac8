"""Figures as PNG, with their numbers as CSV, and a crawl in one picture.

Laws: a figure is written atomically, so that an incomplete one never replaces a good one. Unknown
values are not drawn.
"""

import csv
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from minicrawl.errors import UsageError
from minicrawl.export.drafts import replacing
from minicrawl.graph.outline import TAIL, DegreeDistribution
from minicrawl.store.samples import Sample

_FEW_DECADES = (2, 0.5)
"""Axes of at most this many decades have labels between the powers of ten, too."""


_MARKED = 10
"""Maximum points of a line with markers."""


_COLOURS = 10
"""Number of colours; after that they repeat, with dashed lines."""


_MARKERS = "ox+s"
"""Markers that do not hide each other where points of two lines coincide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLine:
    """One curve. `error` has the standard errors of y, if there are several draws."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] | None = None
    names: Sequence[str] = ()
    """On a map: the name of each point, or one label for the middle of the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Content of a figure."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[PlotLine]
    log_x: bool = False
    log_y: bool = False
    points: bool = False
    """Draw points only, without lines."""
    is_map: bool = False
    """Draw a map: the first line is points with names, the others connect two of them."""


def write(out: Path, figure: Figure) -> tuple[Path, Path]:
    """Write the numbers and the picture of a figure into a folder. Return both files."""
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
    """Return matplotlib's pyplot. Raises UsageError if it is not installed.

    Call this before computing anything, so that a missing package costs no time.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UsageError("figures need matplotlib: pip install 'minicrawl[lab]'") from error
    mpl.use("agg")
    from matplotlib import pyplot as found

    return found


def prepare(out: Path) -> None:
    """Create the folder.

    Raises UsageError for what cannot be drawn, before anything is computed.
    """
    pyplot()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out} for the figures: {error}") from error
    if not os.access(out, os.W_OK):
        raise UsageError(f"cannot write figures into {out}: permission denied")


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


MOST_HOSTS = 40


_COLUMNS, _ROWS = 4, 2


_WIDTH, _ROW_HEIGHT = 18.0, 4.2


_HOST_HEIGHT, _LEAST_HEIGHT = 0.2, 3.0
"""Row height and minimum height in inches. A line of small letters is 0.14 high."""


_DPI = 120


_LONGEST_NAME = 48


_LARGEST_MARK = 60


_TIME = "running time, s"


Samples = Sequence[Sample]


Value = Callable[[Sample], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLinks:
    """Largest hosts by pages, and the number of links between each two."""

    pages: Mapping[str, int]
    links: Mapping[tuple[str, str], int]


def draw_crawl(file: Path, title: str, samples: Samples, hosts: HostLinks) -> None:
    """Write the picture as PNG or SVG, by the suffix of the file."""
    canvas = crawl_picture(title, samples, hosts)
    with replacing(file) as out:
        canvas.savefig(out, format=file.suffix[1:].lower(), dpi=_DPI)
    pyplot().close(canvas)


def crawl_picture(title: str, samples: Samples, hosts: HostLinks) -> Any:
    """Return a pyplot figure with the curves above and the hosts below."""
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
    """Return six curves over time, and two distributions."""
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
    """Return a figure of pages per second between successive samples."""
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
    """Draw the power law fitted to the tail."""
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
    """Draw a row for each host: its number, name and pages, and its links to other hosts.

    The links to a host are in the column with its number.
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
    """Return a name, shortened in the middle: hosts of a site differ at the beginning."""
    half = _LONGEST_NAME // 2
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[1 - half :]}"
    return shown.replace("$", r"\$")  # a $ in a name must not start math mode
