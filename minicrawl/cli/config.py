"""`minicrawl config`: the settings and their origins."""

import click

from minicrawl.cli.common.options import CommandWithSettings, loaded_options
from minicrawl.cli.common.tables import show_json
from minicrawl.config import Loaded
from minicrawl.config.settings import as_document, as_toml, told_ignored
from minicrawl.wording import visible


@click.command(cls=CommandWithSettings)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loaded_options()
def config(loaded: Loaded, as_json: bool) -> None:
    """Show all settings and where they come from.

    Flags override MINICRAWL_* variables, which override minicrawl.toml, which overrides the
    settings in the store, which override the defaults. The output is a valid minicrawl.toml. If
    the store exists, the settings are those with which its crawl would resume.
    """
    from minicrawl.crawl.start.resume import with_store

    in_file = loaded.ignored
    loaded = with_store(loaded)
    in_store = [place for name, place in loaded.ignored.items() if in_file.get(name) != place]
    if line := told_ignored(in_store):
        click.echo(f"minicrawl: {visible(line)}", err=True)
    if as_json:
        show_json(as_document(loaded))
    else:
        click.echo(as_toml(loaded), nl=False)
