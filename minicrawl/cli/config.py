"""`minicrawl config`: the settings and their origins."""

import click

from minicrawl.cli.common.options import CommandWithSettings, loaded_options
from minicrawl.cli.common.tables import show_json
from minicrawl.config import Loaded
from minicrawl.config.writing import as_document, as_toml


@click.group()
def config() -> None:
    """Show the settings and where they come from.

    Flags override MINICRAWL_* variables, which override minicrawl.toml, which overrides the
    settings in the store, which override the defaults.
    """


@config.command(cls=CommandWithSettings)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loaded_options()
def show(loaded: Loaded, as_json: bool) -> None:
    """Show each setting and where it comes from.

    The output is a minicrawl.toml with the same settings. If the store exists, these are the
    settings with which its crawl would resume.
    """
    from minicrawl.crawl.start.resume import with_store

    loaded = with_store(loaded)
    if as_json:
        show_json(as_document(loaded))
    else:
        click.echo(as_toml(loaded), nl=False)
