"""`--cluster` for commands of the core: `crawl` begins or joins a crawl, others read or steer it.

`crawl --help` imports this module, so modules of the cluster are imported only in functions.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.companions import Companion, CrawlRequest
from minicrawl.config import Settings

if TYPE_CHECKING:
    from minicrawl.control import ControlRequest

DEMO = "demo"
_SINGLE_MACHINE_OPTIONS = {
    "fresh": ("--fresh", "name another crawl, as in nats://host:4222/NAME"),
    "must_resume": ("--resume", "the same command continues a crawl"),
    "dry_run": ("--dry-run", "leave out --cluster"),
    "demo": ("--demo", "say --cluster demo"),
    "has_dashboard": ("--dashboard", "use minicrawl dashboard --cluster URL"),
    "graph_stats": ("--graph-stats", "use minicrawl status --graph --cluster URL"),
    "has_index": ("--index", "with --keep pages, use minicrawl index --cluster URL"),
    "log_file": ("--log-file", "use minicrawl export requests.log --cluster URL"),
    "verbose": ("--verbose", "use minicrawl export requests.log --cluster URL"),
    "metrics": ("--metrics", "minicrawl dashboard --cluster URL serves them"),
    "max_failures": ("--max-failures", "use minicrawl status --cluster URL"),
}
"""Options that a cluster refuses, and what to do instead."""


class ClusterCrawl(Companion):
    options = (
        click.option(
            "--shards",
            type=click.IntRange(1, 1 << 16),
            metavar="N",
            help="Number of shards of a new cluster crawl, a few per node; `cluster reshard` "
            "changes it.  [default: 16]",
        ),
    )

    def refuse(self, request: CrawlRequest) -> None:
        cluster = request.loaded.settings.cluster.url
        if cluster is not None:
            for name, (flag, instead) in _SINGLE_MACHINE_OPTIONS.items():
                if request.given.get(name):
                    raise click.UsageError(f"{flag} is for a crawl on one machine: {instead}")
            if request.given["seeds"] and cluster == DEMO:
                raise click.UsageError("--cluster demo has its own seeds: leave out SEEDS")
        elif request.given["shards"]:
            raise click.UsageError("--shards needs --cluster")

    def crawls_instead(self, request: CrawlRequest) -> bool:
        """Crawl as a node until the whole crawl is over. Return False without `--cluster`."""
        if request.loaded.settings.cluster.url is None:
            return False
        from minicrawl.cluster.access import import_engine

        import_engine()
        from minicrawl.cluster.commands.crawling import crawl_in_cluster

        crawl_in_cluster(request)
        return True


class Nats:
    """`--cluster` in other commands; implements `cli.companions.ClusterDoor`."""

    def gathered(self, settings: Settings, *, pages: bool) -> AbstractContextManager[Path]:
        """Return a store of all shards, with or without their kept pages."""
        from minicrawl.cluster.commands.gather import store_of_cluster

        return store_of_cluster(settings, pages=pages)

    def steer(
        self, settings: Settings, action: str, request: "ControlRequest", *, as_json: bool
    ) -> None:
        from minicrawl.cluster.commands.nodes import steer

        steer(settings, action, request, as_json=as_json)

    def serve(self, settings: Settings, host: str, port: int | None, *, ends_alone: bool) -> None:
        """Show all nodes in the browser until the process is told to end."""
        from minicrawl.cluster.commands.dashboard import serve_cluster
        from minicrawl.dashboard.server import Place

        serve_cluster(settings, Place(host=host, port=port, ends_alone=ends_alone))
