"""`minicrawl graph import`: a graph file as a store."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from minicrawl.analysis.importing import Imported, import_graph, refuse_to_overwrite
from minicrawl.analysis.source import opened
from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import json_option, store_option_for
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.graphfiles.reading import PIPE


@click.command("import")
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@json_option
@store_option_for("make")
def import_(file: Path, store: Path, as_json: bool) -> None:
    """Make a new store of the links in FILE, plain or .gz; `-` is stdin.

    All commands that read a store work on it, as if a crawl had read each page that has links.
    Nodes that are no URLs keep their names.
    """
    refuse_to_overwrite(store)
    with opened(store, file, progress) as source:
        named = source.graph
    with progress("import") as tell:
        made = import_graph(named, store, _label(file), time.time(), tell)
    if as_json:
        show_json(asdict(made) | {"store": str(made.store)})
    else:
        show_facts(_facts(made))


def _label(file: Path) -> str:
    return "stdin" if str(file) == PIPE else file.name


def _facts(made: Imported) -> Iterator[tuple[str, str]]:
    yield "store", str(made.store)
    yield "pages", f"{made.pages:,}, {made.read:,} of them with links"
    yield "links", f"{made.links:,}"
    if made.merged:
        yield "merged", f"{made.merged:,} names that are the URL of another one"
    if made.self_links:
        yield "left out", f"{made.self_links:,} links of pages to themselves"
    yield "next", "`minicrawl refine` makes the ranks converge"
