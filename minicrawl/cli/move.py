"""`minicrawl move`: a store and all that lies beside it, to another place."""

from pathlib import Path

import click

from minicrawl.cli.common.stores import json_option, store_option
from minicrawl.cli.common.tables import show_json
from minicrawl.export.cells import visible
from minicrawl.store.beside.files import move as move_store


@click.command()
@click.argument("new", type=click.Path(path_type=Path))
@json_option
@store_option
def move(new: Path, store: Path, as_json: bool) -> None:
    """Move the store to NEW, a file or a folder, with all that belongs to it.

    That is all whose name is that of the store and `-` or `.log`: ranks, the index of links, the
    pages that were kept, logs. A store that a crawl writes stays where it is. A move that was
    broken off is completed by the same command.
    """
    files = move_store(store, new)
    if as_json:
        show_json([str(file) for file in files])
    else:
        for file in files:
            click.echo(visible(str(file)))
