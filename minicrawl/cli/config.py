"""`minicrawl config`: what is set, and where each value came from."""

import click

from minicrawl.cli.common.options import CommandWithSettings, loaded_options
from minicrawl.cli.common.tables import show_json
from minicrawl.config import Loaded
from minicrawl.config.writing import as_document, as_toml


@click.group()
def config() -> None:
    """Show the settings and where they come from.

    Flags go before variables MINICRAWL_*, these before minicrawl.toml, that before the store, and
    the store before defaults.
    """


@config.command(cls=CommandWithSettings)
@click.option("--json", "as_json", is_flag=True, help="Values and origins for programs.")
@loaded_options()
def show(loaded: Loaded, as_json: bool) -> None:
    """Show each value and where it came from.

    What is shown is a minicrawl.toml that gives the same settings. If the store exists, they are
    those with which its crawl would go on.
    """
    from minicrawl import app

    loaded = app.with_store(loaded)
    if as_json:
        show_json(as_document(loaded))
    else:
        click.echo(as_toml(loaded), nl=False)
