"""Companions of `minicrawl crawl`: packages that add options to it and act while it runs.

The dashboard, the search index, the demo web and the cluster are companions. They come by entry
points, so this module names none of them. `--cluster` comes from one as well, the package that
crawls in shards; commands that usually work on a store reach a cluster by its `ClusterDoor`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from minicrawl import ext
from minicrawl.cli import missing_room
from minicrawl.cli.options import Command
from minicrawl.config import Loaded, Settings

if TYPE_CHECKING:
    from minicrawl.app import Crawl
    from minicrawl.control import ControlRequest


class ClusterDoor(Protocol):
    """Operations on a cluster, for commands that usually work on a store."""

    def gathered(self, settings: Settings, *, pages: bool) -> AbstractContextManager[Path]:
        """Return a store of all shards, with or without their kept pages."""

    def steer(
        self, settings: Settings, action: str, request: ControlRequest, *, as_json: bool
    ) -> None:
        """Steer the crawl of all nodes."""

    def serve(self, settings: Settings, host: str, port: int | None, *, ends_alone: bool) -> None:
        """Serve a dashboard of all nodes until the process is stopped."""


def cluster_door() -> ClusterDoor:
    """Return the installed provider of `--cluster`; raise UsageError if there is none."""
    for make in ext.loaded(ext.CLUSTERS):
        door: ClusterDoor = make()
        return door
    raise missing_room("--cluster", "cluster")


class CrawlRequest(NamedTuple):
    """Options of a `crawl` command."""

    loaded: Loaded
    given: Mapping[str, Any]
    """Values of all options, keyed by parameter name."""
    resume: str
    """Command that resumes the crawl."""


class OwnWeb(NamedTuple):
    """A web that a companion serves while it is crawled."""

    seeds: Iterable[str]
    loaded: Loaded


class Companion:
    """Extension of `crawl` by a package. By default its hooks do nothing."""

    options: tuple[Callable[[Command], Command], ...] = ()
    """Decorators by `click.option`. `crawl --help` imports their modules: keep them light."""

    def refuse(self, request: CrawlRequest) -> None:
        """Raise `click.UsageError` where options cannot be combined."""

    def crawls_instead(self, request: CrawlRequest) -> bool:
        """Crawl in another way and return True, if the options request it."""
        return False

    def own_web(self, request: CrawlRequest) -> AbstractContextManager[OwnWeb] | None:
        """Return a web served by this companion, if the options request it."""
        return None

    def samples_graph(self, request: CrawlRequest) -> bool:
        """Return whether to sample the growing graph."""
        return False

    def beside(self, crawl: Crawl, request: CrawlRequest) -> AbstractContextManager[None]:
        """Return a context that is open while the crawl runs."""
        return nullcontext()

    def next_commands(self, store: Path) -> Sequence[str]:
        """Return commands for this store to suggest after the crawl."""
        return ()


@functools.cache
def companions() -> tuple[Companion, ...]:
    return tuple(make() for make in ext.loaded(ext.COMPANIONS))


def companion_options(command: Command) -> Command:
    for companion in reversed(companions()):
        for option in reversed(companion.options):
            command = option(command)
    return command
