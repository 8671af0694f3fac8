"""`minicrawl export`: pages, or the links between them, as a file for other programs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import click

from minicrawl.analysis.source import unseen
from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import (
    choice_options,
    json_option,
    say_what_is_unranked,
    store_option,
)
from minicrawl.cli.common.tables import show_json
from minicrawl.export.drafts import replacing
from minicrawl.export.drawings import DRAWINGS
from minicrawl.export.formats import FORMATS, WRITERS, format_of
from minicrawl.export.rows import COLUMNS, LINK_COLUMNS, Block
from minicrawl.progress import Progress
from minicrawl.report.graphs import HostGraph, PageGraph
from minicrawl.report.ranks import Choice, blocks, score_column
from minicrawl.report.snapshot import snapshot

STDOUT = Path("-")
GRAPHS: dict[str, type[PageGraph] | type[HostGraph]] = {"page": PageGraph, "host": HostGraph}

Write = Callable[[BinaryIO], None]


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@choice_options(count=0)
@click.option("--noindex", is_flag=True, help="Pages that ask not to be indexed, too.")
@click.option("--format", "name", type=click.Choice(FORMATS), help="Instead of the file's suffix.")
@click.option(
    "--ranks", metavar="NAME,...", default="", help="A column of scores for each of these ranks."
)
@click.option("--edges", is_flag=True, help="The links, a row each, instead of the pages.")
@click.option(
    "--level",
    type=click.Choice(list(GRAPHS)),
    help="A graph of pages or of hosts.  [default: page]",
)
@json_option
@store_option
def export(
    file: Path,
    store: Path,
    choice: Choice,
    noindex: bool,
    name: str | None,
    ranks: str,
    edges: bool,
    level: str | None,
    as_json: bool,
) -> None:
    """Write all pages in the order of their importance to FILE: .csv, .tsv, .jsonl or .parquet.

    With --edges the links between them; to .graphml, .gexf or .dot the graph of both. `-` is
    stdout, as CSV unless --format names another.
    """
    suffix = format_of(file, name or ("csv" if file == STDOUT else None))
    if level and not edges and suffix in WRITERS:
        raise click.UsageError(f"--level is for graphs: add --edges, or write no .{suffix}")
    if ranks and edges and suffix in WRITERS:
        raise click.UsageError(f"--ranks is for pages: links in a .{suffix} have none")
    names = list(dict.fromkeys(filter(None, map(str.strip, ranks.split(",")))))
    with snapshot(store) as seen, _progress(file) as tell:
        say_what_is_unranked(seen, names)
        chosen = replace(choice, noindex=noindex)
        if edges or suffix in DRAWINGS:
            write = _graph_writer(GRAPHS[level or "page"](seen, chosen, names, tell), suffix)
        else:
            write = _page_writer(blocks(seen, chosen, names, tell), names, suffix)
        if file == STDOUT:
            write(sys.stdout.buffer)
            return
        with replacing(file) as beside:
            write(beside)
    if as_json:
        show_json({"file": str(file), "bytes": file.stat().st_size})


def _progress(file: Path) -> AbstractContextManager[Progress]:
    """None on the terminal that is being written to."""
    is_shared = file == STDOUT and sys.stdout.isatty()
    return unseen("export") if is_shared else progress("export")


def _page_writer(found: Iterator[Block], ranks: list[str], suffix: str) -> Write:
    columns = (*COLUMNS, *map(score_column, ranks))
    return lambda file: WRITERS[suffix](found, file, columns)


def _graph_writer(graph: PageGraph | HostGraph, suffix: str) -> Write:
    if suffix in DRAWINGS:
        return partial(DRAWINGS[suffix], graph.drawing())
    return lambda file: WRITERS[suffix](graph.named_links(), file, LINK_COLUMNS)
