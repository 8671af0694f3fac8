"""Commands that compute on a whole graph: `minicrawl graph`, `refine` and `plot`.

`status` and a running crawl show the same figures of a graph.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from minicrawl.cli.options import graph_of_option, json_option, source_options, store_option
from minicrawl.cli.output import progress, show_facts, show_json
from minicrawl.errors import Interrupted
from minicrawl.frontier.importance import UNTIL
from minicrawl.model import CRAWLED, KNOWN
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.crawl.refinement import Refined
    from minicrawl.graph.outline import DegreeDistribution, Outline
    from minicrawl.report.crawl_status import Sample
    from minicrawl.report.site_report import HostLinks
    from minicrawl.report.store_graph import Source

_SEED = 1
"""Fixed, so that a graph is always measured from the same pages."""


@click.command()
@graph_of_option(KNOWN)
@json_option
@source_options
def graph(source: Source, graph_of: str, as_json: bool) -> None:
    """Show size, components and distances of a graph.

    Distances are between pages joined by a path. Large graphs are measured from some pages only;
    the diameter is then a lower bound.
    """
    import numpy as np

    from minicrawl.graph.outline import outline
    from minicrawl.report.store_graph import as_linked

    linked = as_linked(source, graph_of)
    with source.progress("distances") as tell:
        found = outline(linked, np.random.default_rng(_SEED), tell)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(outline_facts(found))


# ================================================================ refine
#
# `minicrawl refine`: converged ranks of a crawl, and their change.

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@click.command()
@click.option(
    "--until",
    metavar="ERROR",
    type=float,
    default=UNTIL,
    show_default=True,
    help="Stop when the error, summed over all shares of importance, is at most this.",
)
@click.option(
    "--to",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Copy the store to this new file, and write the ranks beside the copy.",
)
@json_option
@store_option
def refine(store: Path, until: float, to: Path | None, as_json: bool) -> None:
    """Compute converged ranks of all known pages, without fetching.

    A crawl does the same when it ends and while it is idle. refine spends all cash again along the
    stored links, round after round, until the ranks converge. The result is saved beside the store
    and does not affect the order of a resumed crawl. Repeat the command to continue an interrupted
    run.
    """
    from minicrawl.crawl.refinement import refine as refine_store

    with _while_undisturbed() as goes_on, progress("refine") as tell:
        refined = refine_store(store, until=until, to=to, tell=tell, goes_on=goes_on)
    if refined is None or not refined.converged:
        raise Interrupted(_interrupted(refined))
    if as_json:
        show_json(asdict(refined) | {"store": str(refined.store)})
    else:
        show_facts(_refined_facts(refined))


def _refined_facts(refined: Refined) -> list[tuple[str, str]]:
    from minicrawl.crawl.refinement import TOP

    return [
        ("store", str(refined.store)),
        ("pages", f"{refined.pages:,}"),
        ("links", f"{refined.links:,}"),
        ("rounds", f"{refined.rounds:,}"),
        ("error", f"at most {refined.error_bound:.1e}, summed over all shares"),
        ("moved", f"{refined.moved:.3g} of at most 2, summed over all shares"),
        ("unchanged", f"{refined.top_kept} of the top {min(TOP, refined.pages)} pages"),
    ]


def _interrupted(refined: Refined | None) -> str:
    if refined is None or not refined.is_kept:
        return "interrupted before the ranks were worth keeping: run the same command again"
    return (
        f"interrupted; ranks with an error of at most {refined.error_bound:.1e} are kept: "
        "run the same command to resume"
    )


@contextmanager
def _while_undisturbed() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True until a signal arrives. The second signal kills."""
    came: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        signal.signal(number, signal.SIG_DFL)

    former = [signal.signal(number, remember) for number in _SIGNALS]
    try:
        yield lambda: not came
    finally:
        for number, handler in zip(_SIGNALS, former, strict=True):
            signal.signal(number, handler)


# ================================================================ figures
#
# The shape of a graph in words: its size, components, distances and degrees.


def outline_facts(found: Outline) -> Iterator[tuple[str, str]]:
    """Yield the facts about a graph that `graph` and `status` show."""
    yield "nodes", f"{found.nodes:,}, {found.dangling:,} without links"
    yield "links", f"{found.edges:,}, {found.self_links:,} from a node to itself"
    yield (
        "strong components",
        f"{found.strong_components:,}; the largest has {counted(found.largest_strong, 'node')} "
        f"and {counted(found.largest_strong_edges, 'link')}",
    )
    yield (
        "weak components",
        f"{found.weak_components:,}; the largest has {counted(found.largest_weak, 'node')}",
    )
    if (parts := found.bow_tie) is not None:
        yield (
            "bow-tie",
            f"core {parts.core:,}, in {parts.leading_in:,}, out {parts.leading_out:,}, "
            f"tendrils {parts.tendrils:,}, apart {parts.apart:,}",
        )
    how = ", estimated by HyperBall" if found.by_hyperball else ", measured from some nodes"
    how = "" if found.is_exact or found.mean_distance is None else how
    yield "mean distance", f"{_mean(found)}{how}"
    yield "diameter", _diameter(found)
    yield "reciprocity", _reciprocity(found)
    yield "links from a node", _degrees(found.out_degrees)
    yield "links to a node", _degrees(found.in_degrees)


def sample_facts(sample: Sample, now: float) -> Iterator[tuple[str, str]]:
    """Yield the facts about a sample that `status` shows."""
    yield f"graph of {_pages(sample)}", _basis_and_age(sample, now)
    most = "" if sample.maximum is None else f" of at most {sample.maximum:,}"
    errors = counted(sample.errors, "error")
    yield (
        "pages asked for",
        f"{sample.crawled:,}{most} crawled, {errors}; {sample.total:,} in total",
    )
    yield from outline_facts(sample.outline)


def sample_rows(sample: Sample | None, now: float) -> Iterator[tuple[str, str, str]]:
    """Yield the rows about a sample in the display of a running crawl: a label and two columns."""
    if sample is None:
        yield "graph", "the first figures come soon", ""
        return
    found = sample.outline
    yield "graph", f"{found.nodes:,} {_pages(sample)}", f"{counted(found.edges, 'link')}"
    yield (
        "components",
        f"{found.strong_components:,} strong, {found.weak_components:,} weak",
        f"the largest has {counted(found.largest_strong, 'page')}; {found.dangling:,} dangling",
    )
    yield (
        "distances",
        f"diameter {_diameter(found)}, mean {_mean(found)}",
        f"{_reciprocity(found)} of the links are mutual",
    )
    yield "links from", _degrees(found.out_degrees), ""
    yield "links to", _degrees(found.in_degrees), ""
    yield "figures", _basis_and_age(sample, now), ""


def _pages(sample: Sample) -> str:
    return "crawled pages" if sample.graph_of == CRAWLED else "known pages"


def _basis_and_age(sample: Sample, now: float) -> str:
    """Return the method by which the figures were obtained, and their age."""
    shown = f"{sample.basis}, {_age(now - sample.at)}"
    if sample.distances_at == sample.at and sample.distances_basis == sample.basis:
        return shown
    return f"{shown}; distances {sample.distances_basis}, {_age(now - sample.distances_at)}"


def _age(seconds: float) -> str:
    return f"{max(0.0, seconds):,.0f} s old"


def _mean(found: Outline) -> str:
    if found.mean_distance is None:
        return "not known, as paths are too long" if found.diameter else "none"
    error = "" if found.is_exact else f" ± {found.mean_distance_error:.2g}"
    return f"{found.mean_distance:.4g}{error} links"


def _diameter(found: Outline) -> str:
    return f"{'' if found.is_exact else 'at least '}{found.diameter:,}"


def _reciprocity(found: Outline) -> str:
    return "none" if found.reciprocity is None else f"{found.reciprocity:.1%}"


def _degrees(found: DegreeDistribution) -> str:
    ranges = ", ".join(f"{name}: {nodes:,}" for name, nodes in found.ranges() if nodes)
    return f"{ranges}; at most {found.most:,}{_fit(found)}" if ranges else "none"


def _fit(found: DegreeDistribution) -> str:
    if found.exponent is None:
        return ""
    exponent = f"exponent {found.exponent:.2f} ± {found.exponent_error:.2f}"
    if found.p_value is None:  # a sample stored by an older version
        return f", {exponent}"
    judged = f"p {found.p_value:.2g}, distance {found.ks_distance:.2g}"
    return f", {exponent} ({judged})" if found.is_power_law else f", no power law ({judged})"


# ================================================================ plot
#
# `minicrawl plot`: a crawl in one picture.

ENDINGS = (".png", ".svg")


class PictureFile(click.Path):
    """Name of an image file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        if path.suffix.lower() not in ENDINGS:
            self.fail(f"{str(path)!r} must end in {' or '.join(ENDINGS)}", param, ctx)
        return path


@click.command()
@click.argument("file", type=PictureFile(dir_okay=False))
@graph_of_option(CRAWLED)
@store_option
def plot(store: Path, file: Path, graph_of: str) -> None:
    """Plot a crawl to FILE, a .png or .svg.

    Shows pages, pace, importance gathered, errors, components and distances over time, the current
    degrees of the pages, and the 40 largest hosts with the links between them. The points in time
    are the samples of `crawl --graph-stats`; without samples, they come from the log of the store.

    Needs matplotlib: install minicrawl with the extra `lab`.
    """
    from minicrawl.report.formats import pyplot
    from minicrawl.report.sampling import history
    from minicrawl.report.site_report import draw_crawl

    pyplot()
    with progress("samples") as tell:
        found = history(store, graph_of, tell)
    last = found[-1]
    title = f"{store.name}: {last.crawled:,} of {counted(last.known, 'page')} crawled"
    draw_crawl(file, title, found, _hosts(store, graph_of))
    click.echo(file)


def _hosts(store: Path, graph_of: str) -> HostLinks:
    """Return the hosts with the most pages, and the links between them."""
    from minicrawl.report.selected_pages import HostGraph, PageSelection
    from minicrawl.report.site_report import MOST_HOSTS, HostLinks
    from minicrawl.report.snapshot import snapshot

    with snapshot(store) as seen:
        graph = HostGraph(seen, PageSelection(fetched=graph_of != KNOWN)).drawing()
        pages = {
            node: (name, count)
            for block in graph.nodes
            for node, name, count in zip(block["id"], block["label"], block["pages"], strict=True)
        }
        largest = dict(sorted(pages.items(), key=lambda node: -node[1][1])[:MOST_HOSTS])
        links = {
            (largest[source][0], largest[target][0]): weight
            for block in graph.links
            for source, target, weight in zip(*(block[name] for name in block), strict=True)
            if source != target and source in largest and target in largest
        }
    return HostLinks(pages=dict(largest.values()), links=links)
