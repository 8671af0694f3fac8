"""`minicrawl export`: pages as a file for other programs."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from minicrawl.cli.stores import (
    choice_options,
    json_option,
    say_what_is_unranked,
    store_option,
)
from minicrawl.cli.tables import show_json
from minicrawl.export.files import WRITERS, replacing, writer_for
from minicrawl.export.rows import COLUMNS
from minicrawl.report.ranks import Choice, blocks, score_column
from minicrawl.report.snapshot import snapshot

STDOUT = Path("-")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@choice_options(count=0)
@click.option("--noindex", is_flag=True, help="Pages that ask not to be indexed, too.")
@click.option(
    "--format", "name", type=click.Choice(list(WRITERS)), help="Instead of the file's suffix."
)
@click.option(
    "--ranks", metavar="NAME,...", default="", help="A column of scores for each of these ranks."
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
    as_json: bool,
) -> None:
    """Write all pages in the order of their importance to FILE: .csv, .tsv, .jsonl or .parquet.

    `-` is stdout, as CSV unless --format names another.
    """
    write = writer_for(file, name or ("csv" if file == STDOUT else None))
    names = list(dict.fromkeys(filter(None, map(str.strip, ranks.split(",")))))
    columns = (*COLUMNS, *map(score_column, names))
    with snapshot(store) as seen:
        say_what_is_unranked(seen, names)
        found = blocks(seen, replace(choice, noindex=noindex), names)
        if file == STDOUT:
            write(found, sys.stdout.buffer, columns)
            return
        with replacing(file) as beside:
            write(found, beside, columns)
    if as_json:
        show_json({"file": str(file), "bytes": file.stat().st_size})
