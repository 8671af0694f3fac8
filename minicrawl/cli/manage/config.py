"""`minicrawl config`: all settings and where they come from."""

import click

from minicrawl.cli.options import CommandWithSettings, loaded_options
from minicrawl.cli.output import show_json, warn
from minicrawl.config import Loaded
from minicrawl.config.settings import told_ignored
from minicrawl.config.writing import as_document, as_toml


@click.command(cls=CommandWithSettings)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loaded_options()
def config(loaded: Loaded, as_json: bool) -> None:
    """Show all settings and where they come from.

    Flags override MINICRAWL_* variables, which override minicrawl.toml, which overrides the
    settings in the store, which override the defaults. The output is a valid minicrawl.toml. If
    the store exists, the settings are those with which its crawl would resume.
    """
    from minicrawl.crawl.start.settings import with_stored_settings

    in_file = loaded.ignored
    loaded = with_stored_settings(loaded)
    in_store = [place for name, place in loaded.ignored.items() if in_file.get(name) != place]
    if line := told_ignored(in_store):
        warn(line)
    if as_json:
        show_json(as_document(loaded))
    else:
        click.echo(as_toml(loaded), nl=False)
