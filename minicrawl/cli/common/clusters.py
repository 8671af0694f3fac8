"""`--cluster`, provided by an entry point of the package that crawls in shards."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from minicrawl import plugins
from minicrawl.cli import is_missing
from minicrawl.config import Cluster

if TYPE_CHECKING:
    from minicrawl.control import ControlRequest


class ClusterDoor(Protocol):
    """Operations on a cluster, for commands that usually work on a store."""

    def gathered(self, cluster: Cluster, *, pages: bool) -> AbstractContextManager[Path]:
        """Return a store of all shards, with or without their kept pages."""

    def steer(
        self, cluster: Cluster, action: str, request: "ControlRequest", *, as_json: bool
    ) -> None:
        """Steer the crawl of all nodes."""

    def serve(self, cluster: Cluster, host: str, port: int | None, *, ends_alone: bool) -> None:
        """Serve a dashboard of all nodes until the process is stopped."""


def cluster_door() -> ClusterDoor:
    """Return the installed provider of `--cluster`; raise UsageError if there is none."""
    for point in plugins.entry_points(plugins.CLUSTERS).values():
        return cast(Callable[[], ClusterDoor], point.load())()
    raise is_missing("--cluster", "cluster")
