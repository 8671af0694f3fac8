"""Figures of `minicrawl seed-set`: degrees, cores, and the crawls and distances of --evaluate."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli.seed_set.report import Report
from minicrawl.export.cells import visible
from minicrawl.lab.figures import Figure, PlotLine, write
from minicrawl.ranks.seeds.evaluation import Depth, DepthCoverage, EqualPages, distribution

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
    """Of the cores that lead to another one; a line would give the cores between them distances."""
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
    """The cores in a plane, as far apart as they are as well as a plane allows, each joined with
    its nearest ones by lines that tell the links between them, in the shorter direction.
    """
    apart = _apart(between)
    x, y = _in_a_plane(np.where(apart > 0, apart, apart.max(initial=0) + 1.0))
    cores = [str(core) for core in range(1, len(between) + 1)]
    pairs = [(one, other) for one, other in _nearest_pairs(apart) if one < other]
    return Figure(
        name="core-map",
        title="Cores and the links between the nearest of them",
        x_label="links",
        y_label="links",
        lines=[
            PlotLine(label="core", x=x.tolist(), y=y.tolist(), names=cores),
            *(
                PlotLine(
                    label=f"{cores[one]} to {cores[other]}",
                    x=[float(x[one]), float(x[other])],
                    y=[float(y[one]), float(y[other])],
                    names=[str(int(apart[one, other]))],
                )
                for one, other in pairs
            ),
        ],
        is_map=True,
    )


def _apart(between: Degrees) -> Degrees:
    """The distances in the shorter direction; 0 for a core itself and where no path leads."""
    found = np.where(between > 0, between, np.iinfo(np.int32).max)
    found = np.minimum(found, found.T)
    return np.where(found == np.iinfo(np.int32).max, 0, found)


def _nearest_pairs(apart: Degrees) -> Iterator[tuple[int, int]]:
    """Both ways round: each core and those that are as near to it as any."""
    pairs = {
        (one, int(other))
        for one, row in enumerate(apart)
        if (row > 0).any()
        for other in np.flatnonzero(row == row[row > 0].min())
    }
    return iter(sorted(pairs | {(other, one) for one, other in pairs}))


def _in_a_plane(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coordinates by classical multidimensional scaling (Torgerson, 1952)."""
    squares = apart**2
    np.fill_diagonal(squares, 0)
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-(centred + squares.mean()) / 2)
    coordinates = np.zeros((2, len(apart)))
    for axis, place in enumerate(values.argsort()[::-1][:2]):
        vector = vectors[:, place]
        sign = 1.0 if vector[np.abs(vector).argmax()] >= 0 else -1.0
        coordinates[axis] = sign * vector * max(values[place], 0.0) ** 0.5
    return coordinates


def _after_figure(after: Sequence[EqualPages]) -> Figure:
    pages = [one.pages for one in after]
    errors = [one.random_error for one in after if one.random_error is not None]
    return Figure(
        name="gathered-pagerank",
        title="PageRank gathered after as many pages",
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
