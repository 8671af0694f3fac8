"""`minicrawl graph import` and `minicrawl graph info`: whole graphs, of files or of crawls."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np

from minicrawl.cli.common.figures import outline_facts
from minicrawl.cli.common.options import graph_of_option, naming
from minicrawl.cli.common.stores import (
    json_option,
    progress,
    source_options,
    store_option_for,
)
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.crawl.start.graph_import import Imported, import_graph
from minicrawl.graph.outline import outline
from minicrawl.graphfiles.reading import PIPE
from minicrawl.model import KNOWN
from minicrawl.report.source import Source, as_linked, opened
from minicrawl.store.reader import refuse_to_overwrite
from minicrawl.wording import counted


@click.command("import")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@json_option
@store_option_for("make")
def import_(file: Path, store: Path, as_json: bool) -> None:
    """Make a new store from the links in FILE, plain or .gz; `-` is stdin.

    All commands that read a store work on it, as if a crawl had read every page with links. Nodes
    that are not URLs keep their names.
    """
    refuse_to_overwrite(store)
    with opened(store, file, progress) as source:
        named = source.graph
    with progress("import") as tell:
        made = import_graph(named, store, _label(file), time.time(), tell)
    if as_json:
        show_json(asdict(made) | {"store": str(made.store)})
    else:
        show_facts(_import_facts(made))


def _label(file: Path) -> str:
    return "stdin" if str(file) == PIPE else file.name


def _import_facts(made: Imported) -> Iterator[tuple[str, str]]:
    yield "store", str(made.store)
    yield "pages", f"{made.pages:,}, {made.read:,} with links"
    yield "links", f"{made.links:,}"
    if made.merged:
        yield "merged", f"{counted(made.merged, 'name')} with the same URL as another one"
    if made.self_links:
        links = counted(made.self_links, "link")
        yield "left out", f"{links} from a page to itself"
    yield "next step", f"`minicrawl refine{naming(made.store)}` makes the ranks converge"


_SEED = 1
"""A graph is always measured from the same pages."""


@click.command()
@graph_of_option(KNOWN)
@json_option
@source_options
def info(source: Source, graph_of: str, as_json: bool) -> None:
    """Show the size of a graph, its components and the distances of its pages.

    Only pairs of pages with a path between them have a distance. Large graphs are measured from
    some pages only, and the diameter is then a lower bound.
    """
    graph = as_linked(source, graph_of)
    with source.progress("distances") as tell:
        found = outline(graph, np.random.default_rng(_SEED), tell)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(outline_facts(found))
