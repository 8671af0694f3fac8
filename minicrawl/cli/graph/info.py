"""`minicrawl graph info`: a graph in a few numbers."""

from collections.abc import Iterator

import click
import numpy as np

from minicrawl.analysis.source import Source
from minicrawl.cli.common.sources import source_options
from minicrawl.cli.common.stores import json_option
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.graph.outline import Outline, outline

_SEED = 1
"""The same graph is measured from the same pages."""


@click.command()
@json_option
@source_options
def info(source: Source, as_json: bool) -> None:
    """Show how large a graph is, how it hangs together and how far apart its pages are.

    Distances are those of pages that a path leads to. Large graphs are measured from some pages:
    then the diameter is a lower bound.
    """
    graph = source.graph.graph
    with source.progress("distances") as tell:
        found = outline(graph, np.random.default_rng(_SEED), tell)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(_facts(found))


def _facts(found: Outline) -> Iterator[tuple[str, str]]:
    yield "nodes", f"{found.nodes:,}, {found.dangling:,} of them without links"
    yield "links", f"{found.edges:,}, {found.self_links:,} of them to the node itself"
    yield (
        "strong components",
        f"{found.strong_components:,}, the largest of {found.largest_strong:,} nodes "
        f"and {found.largest_strong_edges:,} links",
    )
    yield (
        "weak components",
        f"{found.weak_components:,}, the largest of {found.largest_weak:,} nodes",
    )
    how = "" if found.is_exact else ", measured from some nodes"
    mean = "none" if found.mean_distance is None else f"{found.mean_distance:.4g} links"
    yield "mean distance", f"{mean}{how}"
    yield "diameter", f"{'' if found.is_exact else 'at least '}{found.diameter:,}"
