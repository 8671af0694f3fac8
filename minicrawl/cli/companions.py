"""Companions of `minicrawl crawl`: packages that add options to it and act while it runs.

The dashboard, the search index, the demo web and the cluster are companions. They come by entry
points, so this module names none of them.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from minicrawl import plugins

if TYPE_CHECKING:
    from minicrawl.app import Crawl
    from minicrawl.config import Loaded


Command = Callable[..., Any]


class CrawlRequest(NamedTuple):
    """Options of a `crawl` command."""

    loaded: "Loaded"
    given: Mapping[str, Any]
    """Values of all options, keyed by parameter name."""
    resume: str
    """The command that resumes the crawl."""


class OwnWeb(NamedTuple):
    """A web that a companion serves while it is crawled."""

    seeds: Iterable[str]
    loaded: "Loaded"


class Companion:
    """Extension of `crawl` by a package. By default its hooks do nothing."""

    options: tuple[Callable[[Command], Command], ...] = ()
    """Decorators by `click.option`. `crawl --help` imports their modules: keep them light."""

    def refuse(self, asked: CrawlRequest) -> None:
        """Raise `click.UsageError` where options cannot be combined."""

    def crawls_instead(self, asked: CrawlRequest) -> bool:
        """Crawl in another way and return True, if the options request it."""
        return False

    def own_web(self, asked: CrawlRequest) -> AbstractContextManager[OwnWeb] | None:
        """Return a web served by this companion, if the options request it."""
        return None

    def samples_graph(self, asked: CrawlRequest) -> bool:
        """Return whether to sample the growing graph."""
        return False

    def beside(self, crawl: "Crawl", asked: CrawlRequest) -> AbstractContextManager[None]:
        """Return a context that is open while the crawl runs."""
        return nullcontext()


@cache
def companions() -> tuple[Companion, ...]:
    """Return the companions of all packages."""
    points = plugins.entry_points(plugins.COMPANIONS).values()
    return tuple(cast(type[Companion], point.load())() for point in points)


def companion_options(command: Command) -> Command:
    """Add the options of all companions to a command."""
    for companion in reversed(companions()):
        for option in reversed(companion.options):
            command = option(command)
    return command
