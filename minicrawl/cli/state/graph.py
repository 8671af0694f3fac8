"""`minicrawl graph`: size, components, distances and degrees of a graph, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from minicrawl.cli.options import graph_of_option
from minicrawl.cli.output import show_facts, show_json
from minicrawl.cli.store_options import json_option, source_options
from minicrawl.model import CRAWLED, KNOWN
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.graph.degrees import DegreeDistribution
    from minicrawl.graph.outline import Outline
    from minicrawl.report.graph.source import Source
    from minicrawl.report.progress.samples import Basis, Sample


def outline_facts(outline: Outline) -> Iterator[tuple[str, str]]:
    """Yield the facts about a graph that `graph` and `status` show."""
    yield "nodes", f"{outline.nodes:,}, {outline.dangling:,} without links"
    yield "links", f"{outline.edges:,}, {outline.self_links:,} from a node to itself"
    yield (
        "strong components",
        f"{outline.strong_components:,}; the largest has {counted(outline.largest_strong, 'node')} "
        f"and {counted(outline.largest_strong_edges, 'link')}",
    )
    yield (
        "weak components",
        f"{outline.weak_components:,}; the largest has {counted(outline.largest_weak, 'node')}",
    )
    if (parts := outline.bow_tie) is not None:
        yield (
            "bow-tie",
            f"core {parts.core:,}, in {parts.leading_in:,}, out {parts.leading_out:,}, "
            f"tendrils {parts.tendrils:,}, apart {parts.apart:,}",
        )
    how = ", estimated by HyperBall" if outline.by_hyperball else ", measured from some nodes"
    how = "" if outline.is_exact or outline.mean_distance is None else how
    yield "mean distance", f"{_mean(outline)}{how}"
    yield "diameter", _diameter(outline)
    yield "reciprocity", _reciprocity(outline)
    if (near := outline.cohesion) is not None:
        core = f"the {near.core}-core, which has {counted(near.core_nodes, 'node')}"
        yield "triangles", f"{near.triangles:,}; the innermost core is {core}"
        yield "PageRank", f"half of it is on {counted(near.half_of_rank, 'node')}"
    yield "links from a node", _degrees(outline.out_degrees)
    yield "links to a node", _degrees(outline.in_degrees)


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
    outline = sample.outline
    yield "graph", f"{outline.nodes:,} {_pages(sample)}", f"{counted(outline.edges, 'link')}"
    yield (
        "components",
        f"{outline.strong_components:,} strong, {outline.weak_components:,} weak",
        f"the largest has {counted(outline.largest_strong, 'page')}; {outline.dangling:,} dangling",
    )
    yield (
        "distances",
        f"diameter {_diameter(outline)}, mean {_mean(outline)}",
        f"{_reciprocity(outline)} of the links are mutual",
    )
    yield "links from", _degrees(outline.out_degrees), ""
    yield "links to", _degrees(outline.in_degrees), ""
    yield "figures", _basis_and_age(sample, now), ""


def _pages(sample: Sample) -> str:
    return "crawled pages" if sample.graph_of == CRAWLED else "known pages"


def _basis_and_age(sample: Sample, now: float) -> str:
    """Return the method by which the figures were obtained, and their age."""
    shown = f"{_shown(sample.basis)}, {max(0.0, now - sample.at):,.0f} s old"
    if sample.distances_at == sample.at and sample.distances_basis == sample.basis:
        return shown
    age_s = max(0.0, now - sample.distances_at)
    return f"{shown}; distances {_shown(sample.distances_basis)}, {age_s:,.0f} s old"


def _shown(basis: Basis) -> str:
    return "exact" if basis == "batch" else basis


def _mean(outline: Outline) -> str:
    if outline.mean_distance is None:
        return "not known, as paths are too long" if outline.diameter else "none"
    error = "" if outline.is_exact else f" ± {outline.mean_distance_error:.2g}"
    return f"{outline.mean_distance:.4g}{error} links"


def _diameter(outline: Outline) -> str:
    return f"{'' if outline.is_exact else 'at least '}{outline.diameter:,}"


def _reciprocity(outline: Outline) -> str:
    return "none" if outline.reciprocity is None else f"{outline.reciprocity:.1%}"


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
    from minicrawl.report.graph.source import as_linked

    linked = as_linked(source, graph_of)
    with source.progress("distances") as progress:
        shape = outline(linked, np.random.default_rng(_SEED), progress)
    if as_json:
        show_json(shape)
    else:
        show_facts(outline_facts(shape))


def _degrees(degrees: DegreeDistribution) -> str:
    ranges = ", ".join(f"{name}: {nodes:,}" for name, nodes in degrees.ranges() if nodes)
    if not ranges:
        return "none"
    text = f"{ranges}; at most {degrees.most:,}"
    if degrees.exponent is None:
        return text
    exponent = f"exponent {degrees.exponent:.2f} ± {degrees.exponent_error:.2f}"
    if degrees.p_value is None:  # a sample stored by an older version
        return f"{text}, {exponent}"
    judged = f"p {degrees.p_value:.2g}, distance {degrees.ks_distance:.2g}"
    law = f"{exponent} ({judged})" if degrees.is_power_law else f"no power law ({judged})"
    return f"{text}, {law}"
