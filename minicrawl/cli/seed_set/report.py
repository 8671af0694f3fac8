"""The output of `minicrawl seed-set`: seeds, their cores, vanished seeds, evaluation and figures.

Law: stdout has only the seeds, or one JSON document. Tables and remarks go to stderr.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.analysis.seedset import SeedSet, Sown, Trial
from minicrawl.cli import PROGRAM
from minicrawl.cli.common.tables import show_list, show_table
from minicrawl.export.cells import visible
from minicrawl.graph.distances import UNREACHED
from minicrawl.graph.named import NamedGraph
from minicrawl.lab.figures import Figure, PlotLine, write
from minicrawl.ranks.seeds.cores import Core, CoreKind, CoreRule
from minicrawl.ranks.seeds.evaluation import (
    CoreDistances,
    Depth,
    DepthCoverage,
    distribution,
    in_short,
)
from minicrawl.ranks.seeds.succession import Heir
from minicrawl.wording import counted

CORE_HEADINGS = ("core", "hubs×authorities", "density", "seed")
DEPTH_HEADINGS = ("depth", "pages", "mean PageRank", "random pages", "mean PageRank")
_EXAMPLES = 5

Degrees = NDArray[np.integer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that the output is made from."""

    asked: int
    rule: CoreRule
    found: SeedSet
    sown: Sown
    trial: Trial | None


def show(report: Report) -> None:
    """Print the seeds on stdout, and all else for people on stderr."""
    found, sown = report.found, report.sown
    cores = zip(found.cores, found.named.names.of(found.seeds), strict=True)
    lines = (_core_line(number, *core) for number, core in enumerate(cores, start=1))
    show_list(CORE_HEADINGS, lines, texts=1, err=True)
    for remark in _remarks(report):
        click.echo(f"{PROGRAM}: {visible(remark)}", err=True)
    if report.trial is not None:
        _show_trial(report.trial, len(sown.seeds))
    for name in sown.named.names.of(sown.seeds):
        click.echo(visible(name))


def document(report: Report) -> dict[str, object]:
    """The report as a JSON document."""
    found, sown = report.found, report.sown
    cores = zip(found.cores, found.named.names.of(found.seeds), strict=True)
    return {
        "nodes": found.named.graph.nodes,
        "edges": found.named.graph.edges,
        "links_between_hosts": found.cores[0].links_left,
        "asked": report.asked,
        "core": report.rule.kind.value,
        "seeds": sown.named.names.of(sown.seeds),
        "cores": [_core_document(core, seed, found.named) for core, seed in cores],
        "heirs": _heirs_document(sown) if sown.heirs else None,
        "evaluation": report.trial and _trial_document(report.trial),
    }


def draw(out: Path, report: Report) -> None:
    """Write all figures into this folder, each with its numbers."""
    for figure in _figures(report):
        for path in write(out, figure):
            click.echo(visible(str(path)), err=True)


# ---------------------------------------------------------------- cores


def _core_line(number: int, core: Core, seed: str) -> tuple[str, ...]:
    shape = f"({len(core.hubs):,}×{len(core.authorities):,})"
    return f"{number:,}", shape, f"{core.density:.4g} %", seed


def _core_document(core: Core, seed: str, named: NamedGraph) -> dict[str, object]:
    return {
        "seed": seed,
        "hubs": len(core.hubs),
        "authorities": len(core.authorities),
        "links": core.links,
        "density": core.density,
        "links_left": core.links_left,
        "first_hubs": named.names.of(core.hubs[:_EXAMPLES]),
        "first_authorities": named.names.of(core.authorities[:_EXAMPLES]),
    }


# ---------------------------------------------------------------- remarks


def _remarks(report: Report) -> Iterator[str]:
    cores, rule = report.found.cores, report.rule
    left, links = cores[0].links_left, report.found.named.graph.edges
    yield f"{left:,} of {counted(links, 'link')} lead from one host to another ({left / links:.1%})"
    if len(cores) < report.asked:
        seeds = counted(report.asked, "seed")
        yield f"found {len(cores):,} of {seeds}: no links are left for another core"
    small = sum(core.size < rule.size for core in cores) if rule.kind is CoreKind.SIZE else 0
    if small:
        of_cores = f"{small:,} of {counted(len(cores), 'core')}"
        yield f"{of_cores} below {counted(rule.size, 'page')}: no other page fits"
    for heir, name in _named_heirs(report.sown):
        if name is None:
            yield f"{heir.seed} is not in the newer graph"
        elif heir.shared_links is not None:
            yield (
                f"{heir.seed} is not in the newer graph: {name} replaces it, with "
                f"{counted(heir.shared_links, 'shared link')}"
            )


def _named_heirs(sown: Sown) -> Iterator[tuple[Heir, str | None]]:
    """Each seed with the name of the page that takes its place in the newer graph."""
    nodes = [heir.node for heir in sown.heirs if heir.node is not None]
    names = iter(sown.named.names.of(nodes))
    return ((heir, None if heir.node is None else next(names)) for heir in sown.heirs)


def _heirs_document(sown: Sown) -> list[dict[str, object]]:
    return [
        {"seed": heir.seed, "now": name, "shared_links": heir.shared_links}
        for heir, name in _named_heirs(sown)
    ]


# ---------------------------------------------------------------- the evaluation


def _show_trial(trial: Trial, seeds: int) -> None:
    show_table(
        f"breadth-first crawls from {counted(seeds, 'seed')} and from as many random pages",
        DEPTH_HEADINGS,
        (_depth_line(number, depth) for number, depth in enumerate(trial.depths)),
        _caption(trial),
        err=True,
    )


def _depth_line(number: int, depth: Depth) -> tuple[str, ...]:
    return f"{number:,}", *_read_cells(depth.seeds), *_read_cells(depth.random)


def _read_cells(read: DepthCoverage) -> tuple[str, str]:
    worth = "-" if read.importance is None else f"{100 * read.importance:.3g} %"
    return f"{read.pages:,.{0 if read.pages.is_integer() else 1}f}", worth


def _caption(trial: Trial) -> str:
    connected = int(np.count_nonzero(trial.between_cores > 0))
    pairs = len(trial.between_cores) * (len(trial.between_cores) - 1)
    return (
        f"between cores: {_distances(in_short(trial.between_cores))}, "
        f"{connected:,} of {counted(pairs, 'pair')} connected; "
        f"between pages: {_links(trial.extent.mean_distance)}"
        f"{'' if trial.extent.is_exact else ', measured from some pages'}"
    )


def _distances(found: CoreDistances | None) -> str:
    if found is None:
        return _links(None)
    return f"{_links(found.mean)}, {found.smallest:,} at least and {found.largest:,} at most"


def _links(mean: float | None) -> str:
    return "no path" if mean is None else f"{mean:.4g} links on average"


def _trial_document(trial: Trial) -> dict[str, object]:
    found = in_short(trial.between_cores)
    return {
        "core_distances": [
            [None if links == UNREACHED else links for links in row]
            for row in trial.between_cores.tolist()
        ],
        "smallest_core_distance": found and found.smallest,
        "mean_core_distance": found and found.mean,
        "largest_core_distance": found and found.largest,
        "mean_distance": trial.extent.mean_distance,
        "mean_distance_is_exact": trial.extent.is_exact,
        "depths": [
            {
                "depth": number,
                "pages": depth.seeds.pages,
                "mean_pagerank": depth.seeds.importance,
                "random_pages": depth.random.pages,
                "random_mean_pagerank": depth.random.importance,
            }
            for number, depth in enumerate(trial.depths)
        ],
    }


# ---------------------------------------------------------------- figures


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
        yield _depth_figure("Mean PageRank", trial.depths, lambda read: read.importance)
        yield _depth_figure("Pages", trial.depths, lambda read: read.pages or None)
        yield _distances_figure(trial.between_cores)


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
