"""Figures of seed sets: degrees, cores, crawls from the seeds, and a map of the cores.

python -m tests.bench.seed_figures web.txt --out figures
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.graphfiles import read
from minicrawl.ports import unreported
from minicrawl.ranks.commands.seed_set import DEFAULT_RULE, DRAWS, SEED, Report, evaluated
from minicrawl.ranks.seeds.comparison import Depth, EqualPages
from minicrawl.ranks.seeds.seed_set import SeedChoice, TransferredSeeds, seed_set as seed_set_of
from minicrawl.report.files.figures import Figure, PlotLine
from minicrawl.wording import counted
from tests.bench.core_map import core_map, links_apart
from tests.bench.figure_files import prepare, write

Degrees = NDArray[np.integer]


def _figures(report: Report) -> Iterator[Figure]:
    graph, pruned, cores = (
        report.seed_set.named.graph,
        report.seed_set.between_hosts,
        report.seed_set.cores,
    )
    for name, links, everywhere, between in (
        ("in-degrees", "links to a page", graph.in_degrees(), pruned.in_degrees()),
        ("out-degrees", "links from a page", graph.out_degrees(), pruned.out_degrees()),
    ):
        counts = {"all links": everywhere, "links between hosts": between}
        lines = [_line(label, *distribution(degrees)) for label, degrees in counts.items()]
        title = f"Pages by the {links}"
        yield Figure(name, title, links, "pages", lines, log_x=True, log_y=True, points=True)
    numbers = range(1, len(cores) + 1)
    lines = [
        _line("hubs", numbers, [len(core.hubs) for core in cores]),
        _line("authorities", numbers, [len(core.authorities) for core in cores]),
    ]
    yield Figure("core-sizes", "Hubs and authorities of each core", "core", "pages", lines)
    lines = [_line("links", numbers, [core.links_left for core in cores])]
    title = "Links between hosts that earlier cores left"
    yield Figure("links-left", title, "core", "links", lines)
    if (trial := report.trial) is not None:
        yield _depth_figure("Mean PageRank", trial.depths, lambda _pages, mean: mean)
        yield _depth_figure("Pages", trial.depths, lambda pages, _mean: pages or None)
        yield _after_figure(trial.after)
        yield _distances_figure(trial.between_cores)
        yield _map_figure(trial.between_cores)


def _depth_figure(
    name: str,
    depths: Sequence[Depth],
    value: Callable[[float, float | None], float | None],
) -> Figure:
    lines = []
    for label, reads in (
        ("from the seeds", [depth[:2] for depth in depths]),
        ("from random pages", [depth[2:] for depth in depths]),
    ):
        values = {depth: value(*read) for depth, read in enumerate(reads)}
        known = {depth: number for depth, number in values.items() if number is not None}
        lines.append(_line(label, list(known), list(known.values())))
    title = f"{name} at each depth of a breadth-first crawl"
    file = f"depth-{name.lower().replace(' ', '-')}"
    return Figure(file, title, "links from the nearest seed", name, lines, log_y=True)


def _after_figure(after: Sequence[EqualPages]) -> Figure:
    pages = [equal.pages for equal in after]
    errors = [equal.random_error for equal in after if equal.random_error is not None]
    lines = [
        _line("from the seeds", pages, [equal.pagerank for equal in after]),
        _line(
            "from random pages", pages, [equal.random_pagerank for equal in after], errors or None
        ),
    ]
    title = "PageRank gathered after equal numbers of pages"
    y_label = "PageRank gathered, share of all"
    return Figure("gathered-pagerank", title, "pages read", y_label, lines, log_x=True)


def _distances_figure(between: Degrees) -> Figure:
    """Draw the distances from each core to the nearest and to the farthest other core."""
    paths = {core: row[row > 0] for core, row in enumerate(between, 1) if (row > 0).any()}
    lines = [
        _line("smallest distance", list(paths), [row.min() for row in paths.values()]),
        _line("largest distance", list(paths), [row.max() for row in paths.values()]),
    ]
    title = "Links from a core to the nearest and to the farthest other core"
    return Figure("core-distances", title, "core", "links", lines, points=True)


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
    for core, (x, y) in enumerate(points.tolist(), start=1):
        lines.append(PlotLine(label=f"core {core}", x=[x], y=[y]))
    title = "Cores, as far apart as the shorter path between them is long"
    return Figure("core-map", title, "x in links", "y in links", lines)


def _line(
    label: str,
    x: Sequence[int] | Degrees,
    y: Sequence[float] | Degrees,
    error: Sequence[float] | None = None,
) -> PlotLine:
    return PlotLine(label=label, x=np.asarray(x).tolist(), y=np.asarray(y).tolist(), error=error)


def distribution(degrees: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the degrees above 0 that occur, and the number of pages with each.

    0 has no place on a logarithmic axis.
    """
    pages = np.bincount(degrees)
    occurring = np.flatnonzero(pages)
    occurring = occurring[occurring > 0]
    return occurring, pages[occurring]


@click.command()
@click.argument("graph", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--count", default=10, show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True)
def main(graph: Path, count: int, out: Path) -> None:
    prepare(out)
    seeds = seed_set_of(read(graph), count, DEFAULT_RULE, SeedChoice.HUB, unreported)
    in_crawl = TransferredSeeds(named=seeds.named, seeds=seeds.seeds)
    trial = evaluated(seeds, in_crawl, np.random.default_rng(SEED), DRAWS)
    report = Report(count=count, rule=DEFAULT_RULE, seed_set=seeds, in_crawl=in_crawl, trial=trial)
    for figure in _figures(report):
        for path in write(out, figure):
            click.echo(path)


if __name__ == "__main__":
    main()
