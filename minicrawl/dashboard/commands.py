"""`minicrawl dashboard`: watch and steer a crawl in the browser."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from minicrawl.cli.input_options import WATCH, store_option_for
from minicrawl.cli.setting_options import (
    CommandWithSettings,
    cluster_door,
    loaded_from,
    settings_options,
)
from minicrawl.config import Settings
from minicrawl.errors import UsageError

_MISSING = "the dashboard needs starlette and uvicorn: install minicrawl[dashboard]"


@click.command(cls=CommandWithSettings)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. The connection is not encrypted.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port to listen on; 0 for any.  [default: 8420, or any if in use]",
)
@click.option(
    "--auto-end",
    is_flag=True,
    help="Exit after 10 minutes without a visitor, once the parent process has ended.",
)
@settings_options("cluster")
@store_option_for(WATCH)
@click.pass_context
def dashboard(  # click passes them by name
    context: click.Context,
    store: Path,
    settings: Settings,
    host: str,
    port: int | None,
    auto_end: bool,
) -> None:
    """Watch and control a crawl in the browser.

    Prints the address to open; its token is required to view or change anything. Ctrl-C stops the
    dashboard, not the crawl.

    With --cluster, it shows the nodes of a cluster and the combined results of its shards, which
    are gathered while a browser is connected.
    """
    try:
        from minicrawl.dashboard.launching import Launcher
        from minicrawl.dashboard.serving import Place, serve_views
        from minicrawl.dashboard.views import Views
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise UsageError(_MISSING) from None

    is_store = context.get_parameter_source("store") is ParameterSource.COMMANDLINE
    with suppress(KeyboardInterrupt):
        if settings.cluster.url is not None and not is_store:
            cluster_door().serve(settings.cluster, host, port, ends_alone=auto_end)
        else:
            config = context.params["config_file"]
            named = () if config is None else ("--config", str(config))
            launcher = Launcher(store, partial(loaded_from, {}, config), named)
            place = Place(host=host, port=port, ends_alone=auto_end)
            serve_views(Views(store, launcher), store, place, click.echo)
