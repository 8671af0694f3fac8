"""What `--cluster` does: the package that crawls in shards says so by an entry point."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from minicrawl import plugins
from minicrawl.cli import is_missing
from minicrawl.config import Cluster

if TYPE_CHECKING:
    from minicrawl.control.requests import ControlRequest


class ClusterDoor(Protocol):
    """What commands can do with a cluster instead of a store."""

    def gathered(self, cluster: Cluster, *, pages: bool) -> AbstractContextManager[Path]:
        """Return a store of all shards, with the pages that were kept or without them."""

    def steer(
        self, cluster: Cluster, action: str, request: "ControlRequest", *, as_json: bool
    ) -> None:
        """Steer the crawl of all nodes."""

    def serve(self, cluster: Cluster, host: str, port: int | None, *, ends_alone: bool) -> None:
        """Show all nodes in the browser until the process is told to end."""


def cluster_door() -> ClusterDoor:
    """Return what the installed package does; refuse if there is none."""
    for point in plugins.entry_points(plugins.CLUSTERS).values():
        return cast(Callable[[], ClusterDoor], point.load())()
    raise is_missing("--cluster", "cluster")
