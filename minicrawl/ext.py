"""Names for packages that extend minicrawl by entry points; nothing else is a promise to them.

One registration is enough: `crawl`, resumed crawls, `explain`, `frontier`, `--help`, completion and
messages all know the extension. Like `minicrawl` itself, this module imports a name on first
access, so that a package does not slow down `--help`.

`Checks`, `Filter`, `Order`, `Parser`, `Rank`, `Scorer`, `Sink` and `Writer` are the types of the
functions that are registered; the other names are what these take and return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from minicrawl.audit.checks import Check, Detector
    from minicrawl.audit.site import AuditedSite
    from minicrawl.cli.options import ClusterDoor, Companion, CrawlRequest, OwnWeb
    from minicrawl.crawl.parts import OnPage
    from minicrawl.crawl.schedule.orders import PageOrder
    from minicrawl.crawl.workers.scoring import PageRead
    from minicrawl.frontier.page_table import Frontier
    from minicrawl.graph.csr import Csr, NamedGraph
    from minicrawl.opic.windows import Interpolation, Window
    from minicrawl.ports import Progress
    from minicrawl.ranks.scores import Scores
    from minicrawl.report.crawl_status import StoredPart
    from minicrawl.report.formats import Writer

Checks: TypeAlias = "Callable[[], Iterable[Check]]"
"""Function of `minicrawl.audits`: returns rows of checks."""
Filter: TypeAlias = Callable[[str], bool]
"""Function of `minicrawl.filters`: returns whether to fetch a URL."""
Order: TypeAlias = "Callable[[Frontier], PageOrder]"
"""Function of `minicrawl.orders`: returns the sort keys of a frontier's pages."""
Parser: TypeAlias = Callable[[str, str], str]
"""Function of `minicrawl.parsers`: returns a text of a page, from its markup and URL."""
Rank: TypeAlias = "Callable[[NamedGraph, Progress], Scores]"
"""Function of `minicrawl.ranks`: returns a score for each node."""
Scorer: TypeAlias = "Callable[[str], Callable[[PageRead], float]]"
"""Function of `minicrawl.scorers`: returns a function that values pages, from its arguments."""
Sink: TypeAlias = "Callable[[str], AbstractContextManager[OnPage]]"
"""Function of `minicrawl.sinks`: returns a context that is open while the crawl runs."""

HOMES = {
    "AuditedSite": "minicrawl.audit.site",
    "Check": "minicrawl.audit.checks",
    "ClusterDoor": "minicrawl.cli.options",
    "Companion": "minicrawl.cli.options",
    "CrawlRequest": "minicrawl.cli.options",
    "Csr": "minicrawl.graph.csr",
    "Detector": "minicrawl.audit.checks",
    "Frontier": "minicrawl.frontier.page_table",
    "Interpolation": "minicrawl.opic.windows",
    "NamedGraph": "minicrawl.graph.csr",
    "OnPage": "minicrawl.crawl.parts",
    "OwnWeb": "minicrawl.cli.options",
    "PageOrder": "minicrawl.crawl.schedule.orders",
    "PageRead": "minicrawl.crawl.workers.scoring",
    "Progress": "minicrawl.ports",
    "Scores": "minicrawl.ranks.scores",
    "StoredPart": "minicrawl.report.crawl_status",
    "Window": "minicrawl.opic.windows",
    "Writer": "minicrawl.report.formats",
}

__all__ = [
    "AuditedSite",
    "Check",
    "Checks",
    "ClusterDoor",
    "Companion",
    "CrawlRequest",
    "Csr",
    "Detector",
    "Filter",
    "Frontier",
    "Interpolation",
    "NamedGraph",
    "OnPage",
    "Order",
    "OwnWeb",
    "PageOrder",
    "PageRead",
    "Parser",
    "Progress",
    "Rank",
    "Scorer",
    "Scores",
    "Sink",
    "StoredPart",
    "Window",
    "Writer",
]


if not TYPE_CHECKING:  # hides `__getattr__` from the type checker, which knows the names

    def __getattr__(name: str) -> object:
        home = HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(home), name)

    def __dir__() -> list[str]:
        """Return the names for extenders, for completion, without importing them."""
        return sorted(__all__)
