"""`minicrawl mcp`, what its user grants to agents, and the crawl that they may start."""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from minicrawl.cli.store_options import own_store_option
from minicrawl.errors import MinicrawlError, UsageError, needs
from minicrawl.store.reader import missing_store
from minicrawl.web.urls import canonical_seed


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
        from minicrawl.mcp.tools import serve_http, server_for

    server = server_for(store, CrawlGrant.of(below, pages) if pages else None)
    with suppress(KeyboardInterrupt):
        if port is None:
            server.run("stdio")
        else:
            serve_http(server, port, partial(click.echo, err=True))


# ================================================================ the crawl that agents may start
#
# A process of its own:
#
#     STORE PAGES URL...     prints its summary as JSON
#
# Laws: the settings, the command and the limits of a store stay as they were, so that its own next
# run goes on as before. A new store keeps the granted folders as its scope.

_LONGEST = "10m"


@dataclass(frozen=True, slots=True)
class CrawlGrant:
    """Permission by the user: folders that pages must be in, and a maximum number of pages."""

    below: Sequence[str]
    """URLs that name the folders, and that crawls begin with."""
    pages: int

    @classmethod
    def of(cls, urls: Sequence[str], pages: int) -> "CrawlGrant":
        """Return the grant; raise UsageError if one of the URLs is invalid."""
        below = []
        for url in urls:
            found = canonical_seed(url)
            if found is None:
                raise UsageError(f"--allow-crawl: {url!a} is not a URL")
            below.append(found)
        return cls(below, pages)

    def pattern(self) -> str:
        """Return the pattern of URLs that may be requested."""
        names = "|".join(re.escape(folder.partition("://")[2]) for folder in self.folders())
        return f"^https?://({names})"

    def folders(self) -> list[str]:
        """Return the granted folders, each with a slash at its end."""
        return [f"{url.partition('?')[0].rpartition('/')[0]}/" for url in self.below]


def crawl_within(grant: CrawlGrant, store: Path) -> None:
    """Crawl the granted pages that are in the scope of the store, too."""
    from minicrawl.app import Crawl
    from minicrawl.cli.crawl.session import RunOptions, Session
    from minicrawl.cli.options import CONFIG_VARIABLE, loaded_from

    given: dict[str, object] = {"new_pages": grant.pages, "for_": _LONGEST, "store": str(store)}
    given |= {"continuous": False, "check": ("none",)}
    if not store.exists():
        given["scope"] = "prefix"
    chosen = os.environ.get(CONFIG_VARIABLE)
    loaded = loaded_from(given, Path(chosen) if chosen else None)
    granted = re.compile(grant.pattern())
    crawl = Crawl(grant.below, loaded, aside=True, accept=lambda url: bool(granted.match(url)))
    Session(crawl, RunOptions(resume="", quiet=True, as_json=True)).run()


def main() -> None:
    """Run the crawl of an agent in a process of its own."""
    try:
        crawl_within(CrawlGrant.of(sys.argv[3:], int(sys.argv[2])), Path(sys.argv[1]))
    except MinicrawlError as error:
        sys.exit(str(error))
