"""`minicrawl graph`: the size and the structure of a whole graph."""

import click
import numpy as np

from minicrawl.cli.common.figures import outline_facts
from minicrawl.cli.common.options import graph_of_option
from minicrawl.cli.common.stores import json_option, source_options
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.graph.outline import outline
from minicrawl.model import KNOWN
from minicrawl.report.store_graph import Source, as_linked

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
    linked = as_linked(source, graph_of)
    with source.progress("distances") as tell:
        found = outline(linked, np.random.default_rng(_SEED), tell)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(outline_facts(found))
