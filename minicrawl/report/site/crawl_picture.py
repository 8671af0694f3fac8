"""A crawl as one picture: curves of its progress, degrees of pages, its largest hosts."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from minicrawl.graph.degrees import TAIL, DegreeDistribution
from minicrawl.own_files import replacing
from minicrawl.report.files.figures import Figure, PlotLine, draw, pyplot
from minicrawl.report.progress.samples import Sample

MOST_HOSTS = 40
_COLUMNS, _ROWS = 4, 2
_PICTURE_WIDTH, _ROW_HEIGHT = 18.0, 4.2
_HOST_HEIGHT, _LEAST_HEIGHT = 0.2, 3.0
"""Row height and minimum height in inches. A line of small letters is 0.14 high."""
_DPI = 120
_LONGEST_LABEL = 48
_LARGEST_MARK = 60
_TIME = "running time, s"
Samples = Sequence[Sample]
Pages = Mapping[str, int]
"""Largest hosts, and their pages."""
HostLinks = Mapping[tuple[str, str], int]
"""Number of links from one of them to another."""
Value = Callable[[Sample], float | None]


def draw_crawl(file: Path, title: str, samples: Samples, pages: Pages, links: HostLinks) -> None:
    """Write the picture as PNG or SVG, by the suffix of the file."""
    canvas = crawl_picture(title, samples, pages, links)
    with replacing(file) as out:
        canvas.savefig(out, format=file.suffix[1:].lower(), dpi=_DPI)
    pyplot().close(canvas)


def crawl_picture(title: str, samples: Samples, pages: Pages, links: HostLinks) -> Any:
    """Return a pyplot figure with the curves above and the hosts below."""
    heights = [_ROWS * _ROW_HEIGHT]
    if pages:
        heights.append(max(_LEAST_HEIGHT, _HOST_HEIGHT * len(pages)))
    canvas = pyplot().figure(figsize=(_PICTURE_WIDTH, sum(heights)), layout="constrained")
    parts = canvas.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    places = list(parts[0].subplots(_ROWS, _COLUMNS).flat)
    for place, figure in zip(places, curves(samples), strict=True):
        draw(pyplot(), place, figure)
    last = samples[-1].outline
    for place, degrees in zip(places[-2:], (last.out_degrees, last.in_degrees), strict=True):
        _draw_fit(place, degrees)
    for lower in parts[1:]:
        bars, matrix = lower.subplots(1, 2)
        rows = range(1, len(pages) + 1)
        row_of = dict(zip(pages, rows, strict=True))
        bars.barh(rows, list(pages.values()), color="C1")
        # Shortened in the middle: hosts of a site differ at the beginning. A $ starts math mode.
        half = _LONGEST_LABEL // 2
        labels = (
            name if len(name) <= _LONGEST_LABEL else f"{name[:half]}…{name[1 - half :]}"
            for name in row_of
        )
        names = [
            f"{label}  {row:>2}".replace("$", r"\$")
            for label, row in zip(labels, rows, strict=True)
        ]
        bars.set_yticks(rows, names, fontsize="small")
        bars.set(xlabel="pages", ylim=(len(rows) + 0.5, 0.5))
        bars.set_title("largest hosts", loc="left")
        points = [(row_of[target], row_of[source]) for source, target in links]
        matrix.set(xlabel="to host", ylabel="from host", xlim=(0.5, len(rows) + 0.5))
        matrix.set(ylim=(len(rows) + 0.5, 0.5))
        matrix.set_xticks(rows, rows, fontsize="x-small")
        matrix.set_yticks(rows, rows, fontsize="x-small")
        matrix.set_title("links between them; larger marks are more links", loc="left")
        if points:
            most = math.log1p(max(links.values()))
            sizes = [_LARGEST_MARK * (math.log1p(n) / most) ** 2 for n in links.values()]
            matrix.scatter(*zip(*points, strict=True), s=sizes, marker="s")
    canvas.suptitle(title)
    return canvas


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
    drawn = []
    for label, value in lines.items():
        points = [(sample.running_s, value(sample)) for sample in samples]
        known = [(x, y) for x, y in points if y is not None]
        x, y = [x for x, _ in known], [y for _, y in known]
        drawn.append(PlotLine(label=label.replace("_", " "), x=x, y=y))
    name = title.replace(" ", "-")
    return Figure(name=name, title=title, x_label=_TIME, y_label=y_label, lines=drawn)


def _pace(samples: Samples) -> Figure:
    points = [
        (later.running_s, (later.crawled - sooner.crawled) / (later.running_s - sooner.running_s))
        for sooner, later in pairwise(samples)
        if later.running_s > sooner.running_s
    ]
    line = PlotLine(label="crawled", x=[x for x, _ in points], y=[y for _, y in points])
    return Figure(name="pace", title="pace", x_label=_TIME, y_label="pages/s", lines=[line])


def _degrees(title: str, degrees: DegreeDistribution) -> Figure:
    points = list(degrees.at_least())
    return Figure(
        name=title.replace(" ", "-"),
        title=title,
        x_label="links, at least",
        y_label="pages",
        lines=[PlotLine(label="pages", x=[x for x, _ in points], y=[y for _, y in points])],
        log_x=True,
        log_y=True,
        points=True,
    )


def _draw_fit(axes: Any, degrees: DegreeDistribution) -> None:
    if degrees.exponent is None or not degrees.is_power_law:
        return
    least = TAIL - 0.5
    pages = sum(pages for start, pages in degrees.bins if start >= TAIL)
    ends = (least, max(degrees.most, least))
    axes.plot(
        ends,
        [pages * (end / least) ** (1 - degrees.exponent) for end in ends],
        linestyle="--",
        label=f"exponent {degrees.exponent:.2f} ± {degrees.exponent_error:.2f}, "
        f"p {degrees.p_value:.2g}",
    )
    axes.legend()
