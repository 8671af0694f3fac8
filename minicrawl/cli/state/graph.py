"""`minicrawl graph`: size, components and distances of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from minicrawl.cli.options import graph_of_option
from minicrawl.cli.output import show_facts, show_json
from minicrawl.cli.state.graph_facts import outline_facts
from minicrawl.cli.store_options import json_option, source_options
from minicrawl.model import KNOWN

if TYPE_CHECKING:
    from minicrawl.report.graph.source import Source


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
