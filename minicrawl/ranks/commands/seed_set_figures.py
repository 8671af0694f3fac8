"""Figures of `minicrawl seed-set`: degrees, cores, and the crawls and distances of --evaluate."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.ranks.commands.seed_set_report import Report
from minicrawl.ranks.core_map import core_map, links_apart
from minicrawl.ranks.seed_evaluation import Depth, DepthCoverage, EqualPages, distribution
from minicrawl.report.files.figures import Figure, PlotLine, write
from minicrawl.wording import counted, visible

Degrees = NDArray[np.integer]


def draw(out: Path, report: Report) -> None:
    """Write all figures into this folder, each with its numbers."""
    for figure in _figures(report):
        for path in write(out, figure):
            click.echo(visible(str(path)), err=True)


def _figures(report: Report) -> Iterator[Figure]:
    found = report.found
    graph, pruned = found.named.graph, found.between_hosts
    yield _degrees_figure("in", "links to a page", graph.in_degrees(), pruned.in_degrees())
    yield _degrees_figure("out", "links from a page", graph.out_degrees(), pruned.out_degrees())
    yield _cores_figure(
        "core-sizes",
        "Hubs and authorities of each core",
        "pages",
        hubs=[len(core.hubs) for core in found.cores],
        authorities=[len(core.authorities) for core in found.cores],
    )
    yield _cores_figure(
        "links-left",
        "Links between hosts that earlier cores left",
        "links",
        links=[core.links_left for core in found.cores],
    )
    if (trial := report.trial) is not None:
        yield _depth_figure("Mean PageRank", trial.crawls.depths, lambda read: read.importance)
        yield _depth_figure("Pages", trial.crawls.depths, lambda read: read.pages or None)
        yield _after_figure(trial.crawls.after)
        yield _distances_figure(trial.between_cores)
        yield _map_figure(trial.between_cores)


def _degrees_figure(
    direction: str, links: str, everywhere: Degrees, between_hosts: Degrees
) -> Figure:
    degrees = {"all links": everywhere, "links between hosts": between_hosts}
    return Figure(
        name=f"{direction}-degrees",
        title=f"Pages by the {links}",
        x_label=links,
        y_label="pages",
        lines=[
            PlotLine(label=label, x=counts.degrees.tolist(), y=counts.pages.tolist())
            for label, counts in zip(degrees, map(distribution, degrees.values()), strict=True)
        ],
        log_x=True,
        log_y=True,
        points=True,
    )


def _cores_figure(name: str, title: str, y_label: str, **values: Sequence[int]) -> Figure:
    return Figure(
        name=name,
        title=title,
        x_label="core",
        y_label=y_label,
        lines=[
            PlotLine(label=label, x=range(1, len(numbers) + 1), y=numbers)
            for label, numbers in values.items()
        ],
    )


def _distances_figure(between: Degrees) -> Figure:
    """Draw the distances from each core to the nearest and to the farthest other core."""
    found = {core: row[row > 0] for core, row in enumerate(between, 1) if (row > 0).any()}
    return Figure(
        name="core-distances",
        title="Links from a core to the nearest and to the farthest other core",
        x_label="core",
        y_label="links",
        lines=[
            PlotLine(label=label, x=list(found), y=[int(of(row)) for row in found.values()])
            for label, of in (("smallest distance", np.min), ("largest distance", np.max))
        ],
        points=True,
    )


def _map_figure(between: Degrees) -> Figure:
    """Draw the cores as points, and a line between any two for the shorter path."""
    links = links_apart(between)
    points = core_map(links)
    lines = []
    for length in np.unique(links[links > 0]).tolist():
        pairs = np.argwhere(np.triu(links == length))
        gap = np.full((len(pairs), 1, 2), np.nan)
        x, y = np.concatenate((points[pairs], gap), axis=1).reshape(-1, 2).T.tolist()
        lines.append(PlotLine(label=counted(length, "link"), x=x, y=y))
    cores = [str(core) for core in range(1, len(points) + 1)]
    x, y = points.T.tolist()
    return Figure(
        name="core-map",
        title="Cores, as far apart as the shorter path between them is long",
        x_label="x in links",
        y_label="y in links",
        lines=[*reversed(lines), PlotLine(label="core", x=x, y=y, names=cores)],
        is_map=True,
    )


def _after_figure(after: Sequence[EqualPages]) -> Figure:
    pages = [one.pages for one in after]
    errors = [one.random_error for one in after if one.random_error is not None]
    return Figure(
        name="gathered-pagerank",
        title="PageRank gathered after equal numbers of pages",
        x_label="pages read",
        y_label="PageRank gathered, share of all",
        lines=[
            PlotLine(label="from the seeds", x=pages, y=[one.seeds for one in after]),
            PlotLine(
                label="from random pages",
                x=pages,
                y=[one.random for one in after],
                error=errors or None,
            ),
        ],
        log_x=True,
    )


def _depth_figure(
    name: str, depths: Sequence[Depth], value: Callable[[DepthCoverage], float | None]
) -> Figure:
    return Figure(
        name=f"depth-{name.lower().replace(' ', '-')}",
        title=f"{name} at each depth of a breadth-first crawl",
        x_label="links from the nearest seed",
        y_label=name,
        lines=[
            _line("from the seeds", [value(depth.seeds) for depth in depths]),
            _line("from random pages", [value(depth.random) for depth in depths]),
        ],
        log_y=True,
    )


def _line(label: str, values: Sequence[float | None]) -> PlotLine:
    known = {depth: value for depth, value in enumerate(values) if value is not None}
    return PlotLine(label=label, x=list(known), y=list(known.values()))
