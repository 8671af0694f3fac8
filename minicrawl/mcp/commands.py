"""`minicrawl mcp`: serves the tools of a store to agents."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import click

from minicrawl.cli.store_options import own_store_option
from minicrawl.errors import needs
from minicrawl.mcp.crawl_grant import CrawlGrant
from minicrawl.store.reader import missing_store


@click.command()
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="Serve streamable HTTP at this port of 127.0.0.1; 0 for any.  [default: stdio]",
)
@click.option(
    "--allow-crawl",
    "below",
    metavar="URL",
    multiple=True,
    help="Let agents crawl pages in the folder of this URL. Repeatable.",
)
@click.option(
    "--pages",
    metavar="N",
    type=click.IntRange(min=1),
    help="Maximum number of pages that agents may crawl until the server ends.",
)
@own_store_option
def mcp(store: Path, port: int | None, below: tuple[str, ...], pages: int | None) -> None:
    """Let AI agents query a store (MCP).

    Agents use the Model Context Protocol. They read the store, even while a crawl runs, and change
    it only with --allow-crawl. Over HTTP they need the printed token, which the variable MCP_TOKEN
    can set.
    """
    if bool(below) != (pages is not None):
        raise click.UsageError("--allow-crawl and --pages: give both or none")
    if not below and not store.is_file():
        raise missing_store(store)
    with needs("mcp", "a server for agents"):
        from minicrawl.mcp.server import serve_http, server_for

    server = server_for(store, CrawlGrant.of(below, pages) if pages else None)
    with suppress(KeyboardInterrupt):
        if port is None:
            server.run("stdio")
        else:
            serve_http(server, port, partial(click.echo, err=True))
