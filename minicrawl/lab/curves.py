"""A crawl in one picture: its curves, the degrees of its pages, and its hosts as a graph.

Law: what is not known is not drawn.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from minicrawl.export.drafts import replacing
from minicrawl.graph.degrees import TAIL, DegreeDistribution
from minicrawl.lab.figures import Figure, PlotLine, draw, pyplot
from minicrawl.store.beside.samples import Sample

MOST_HOSTS = 24
_COLUMNS, _ROWS = 3, 3
_INCHES = (16, 13)
_DPI = 120
_LONGEST_NAME = 28
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
    plot = pyplot()
    canvas, axes = plot.subplots(_ROWS, _COLUMNS, figsize=_INCHES, layout="constrained")
    places = list(axes.flat)
    for place, figure in zip(places, curves(samples), strict=False):
        draw(plot, place, figure)
    last = samples[-1].outline
    for place, found in zip(places[6:8], (last.out_degrees, last.in_degrees), strict=True):
        _draw_fit(place, found)
    _draw_hosts(places[8], hosts)
    canvas.suptitle(title)
    with replacing(file) as out:
        canvas.savefig(out, format=file.suffix[1:].lower(), dpi=_DPI)
    plot.close(canvas)


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


def _draw_hosts(axes: Any, hosts: HostLinks) -> None:
    """Hosts in a circle, as large as they have pages; lines as wide as there are links."""
    names = list(hosts.pages)
    turns = [2 * math.pi * number / max(1, len(names)) for number in range(len(names))]
    at = {name: (math.cos(turn), math.sin(turn)) for name, turn in zip(names, turns, strict=True)}
    most = max(hosts.links.values(), default=1)
    for (source, target), links in hosts.links.items():
        (x, y), (to_x, to_y) = at[source], at[target]
        share = math.log1p(links) / math.log1p(most)
        axes.plot((x, to_x), (y, to_y), color="C0", alpha=0.1 + 0.5 * share, linewidth=3 * share)
    largest = max(hosts.pages.values(), default=1)
    sizes = [20 + 400 * pages / largest for pages in hosts.pages.values()]
    xs, ys = zip(*at.values(), strict=True) if at else ((), ())
    axes.scatter(xs, ys, s=sizes, color="C1", zorder=2)
    for name, turn in zip(names, turns, strict=True):
        _write_name(axes, name, turn)
    axes.set(xlim=(-2.6, 2.6), ylim=(-2.4, 2.4), aspect="equal")
    axes.set_title("hosts", loc="left")
    axes.axis("off")


def _write_name(axes: Any, name: str, turn: float) -> None:
    """Outside of the circle, along its ray."""
    is_left = math.cos(turn) < 0
    shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    axes.text(
        1.12 * math.cos(turn),
        1.12 * math.sin(turn),
        shown.replace("$", r"\$"),  # what a page is called is no mathematics
        rotation=math.degrees(turn) + (180 if is_left else 0),
        rotation_mode="anchor",
        ha="right" if is_left else "left",
        va="center",
        fontsize="x-small",
    )
