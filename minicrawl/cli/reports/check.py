"""`minicrawl check`: is the store intact?"""

from pathlib import Path

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import json_option, store_option
from minicrawl.cli.common.tables import show_json
from minicrawl.export.cells import visible
from minicrawl.report.audit import audit


@click.command()
@json_option
@store_option
@click.pass_context
def check(context: click.Context, store: Path, as_json: bool) -> None:
    """Check that a store is intact: the file, the links, every atom of cash.

    Prints a line for each problem, and exits with 1 if there is one.
    """
    with progress("check") as tell:
        found = audit(store, tell)
    if as_json:
        show_json(found.as_json())
    else:
        for line in found.lines():
            click.echo(visible(line))
    context.exit(0 if found.is_intact else 1)
