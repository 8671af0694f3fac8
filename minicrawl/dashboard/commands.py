"""`minicrawl dashboard`: watch a crawl in the browser, and steer it."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from minicrawl.cli.companions import cluster_door
from minicrawl.cli.options import CommandWithSettings, loaded_from, settings_options
from minicrawl.cli.parameters import number, option, switch, with_options
from minicrawl.cli.store_options import WATCH, store_option_for
from minicrawl.config import Settings
from minicrawl.errors import needs

LAST_PORT = 65_535


@click.command(cls=CommandWithSettings)
@with_options
@settings_options("cluster", "insecure")
@store_option_for(WATCH)
@click.pass_context
def dashboard(
    context: click.Context,
    store: Path,
    settings: Settings,
    host: str = option("Address to listen on. The connection is not encrypted.", "127.0.0.1"),
    port: int | None = number(
        "Port to listen on; 0 for any.", least=0, most=LAST_PORT, usual="8420, or any if in use"
    ),
    auto_end: bool = switch(
        "Exit after 10 minutes without a visitor, once the parent process has ended."
    ),
) -> None:
    """Watch and control a crawl in the browser.

    Prints the address to open; its token is required to view or change anything. Ctrl-C stops the
    dashboard, not the crawl.

    With --cluster, it shows the nodes of a cluster and the combined results of its shards, which
    are gathered while a browser is connected.
    """
    with needs("dashboard", "the dashboard"):
        from minicrawl.dashboard.launcher import Launcher
        from minicrawl.dashboard.server import Place, serve_views
        from minicrawl.dashboard.views import Views

    is_store = context.get_parameter_source("store") is ParameterSource.COMMANDLINE
    with suppress(KeyboardInterrupt):
        if settings.cluster.url is not None and not is_store:
            cluster_door().serve(settings, host, port, ends_alone=auto_end)
        else:
            config = context.params["config_file"]
            options = () if config is None else ("--config", str(config))
            launcher = Launcher(store, partial(loaded_from, {}, config), options)
            place = Place(host=host, port=port, ends_alone=auto_end)
            serve_views(Views(store, launcher), store, place, click.echo)
