"""`minicrawl move`: a store and all its files to another place."""

from __future__ import annotations

from pathlib import Path

import click

from minicrawl.cli.output import show_json
from minicrawl.cli.store_options import json_option, own_store_option
from minicrawl.wording import visible


@click.command()
@click.argument("new", type=click.Path())
@json_option
@own_store_option
def move(new: str, store: Path, as_json: bool) -> None:
    """Move the store and its files to NEW, a file or a folder.

    A NEW that ends in / is a folder. Missing folders are created.

    Files of a store have its name followed by `-` or `.log`: ranks, the link index, kept pages,
    logs. A store cannot be moved while a crawl writes it. Repeat the command to complete an
    interrupted move.
    """
    from minicrawl.store.files import move as move_store

    def say(folder: Path) -> None:
        click.echo(f"made the folder {visible(str(folder))}", err=True)

    files = move_store(store, Path(new), is_folder=new.endswith("/"), made=say)
    if as_json:
        show_json(files)
    else:
        for file in files:
            click.echo(visible(str(file)))
