"""Extension by entry points: names for packages that extend minicrawl, and how these are found.

One registration is enough: `crawl`, resumed crawls, `explain`, `frontier`, `--help`, completion and
messages all know the extension. Like `minicrawl` itself, this module imports a name on first
access, so that a package does not slow down `--help`.

`Checks`, `Filter`, `Order`, `Parser`, `Rank`, `Scorer`, `Sink`, `Weigher` and `Writer` are the
types of the functions that are registered; the other names in `__all__` are what these take and
return. No other name is a promise to packages.

A room is a folder beside the core, such as `minicrawl.search`. The core names no room and looks
rooms up here, so deleting a room's folder and entry points removes that room and nothing else.

Laws: built-in objects cannot be replaced. A package is imported only when its extension is used,
because `--help` should take a tenth of a second. For the same reason, entry points are read from
the files that installers leave beside packages, without importlib.metadata and its mail parser.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

from minicrawl.errors import MinicrawlError, UsageError

if TYPE_CHECKING:
    from minicrawl.audit.checks import Check
    from minicrawl.audit.detectors import Detector
    from minicrawl.audit.site import AuditedSite
    from minicrawl.cli.companions import ClusterDoor, Companion, CrawlRequest, OwnWeb
    from minicrawl.crawl.hooks import OnPage
    from minicrawl.crawl.schedule.orders import PageOrder
    from minicrawl.crawl.workers.scoring import PageRead
    from minicrawl.frontier.page_table import Frontier
    from minicrawl.graph.csr import Csr
    from minicrawl.graph.named_graph import NamedGraph
    from minicrawl.opic.windows.interpolation import Interpolation
    from minicrawl.opic.windows.window import Window
    from minicrawl.ports import Progress
    from minicrawl.ranks.scores import Scores
    from minicrawl.report.files.rows import Writer
    from minicrawl.report.progress.crawl_status import StoredPart

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
Weigher: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]
"""Function of `minicrawl.weights`: returns a weight for each link of a page."""

HOMES = {
    "AuditedSite": "minicrawl.audit.site",
    "Check": "minicrawl.audit.checks",
    "ClusterDoor": "minicrawl.cli.companions",
    "Companion": "minicrawl.cli.companions",
    "CrawlRequest": "minicrawl.cli.companions",
    "Csr": "minicrawl.graph.csr",
    "Detector": "minicrawl.audit.detectors",
    "Frontier": "minicrawl.frontier.page_table",
    "Interpolation": "minicrawl.opic.windows.interpolation",
    "NamedGraph": "minicrawl.graph.named_graph",
    "OnPage": "minicrawl.crawl.hooks",
    "OwnWeb": "minicrawl.cli.companions",
    "PageOrder": "minicrawl.crawl.schedule.orders",
    "PageRead": "minicrawl.crawl.workers.scoring",
    "Progress": "minicrawl.ports",
    "Scores": "minicrawl.ranks.scores",
    "StoredPart": "minicrawl.report.progress.crawl_status",
    "Window": "minicrawl.opic.windows.window",
    "Writer": "minicrawl.report.files.rows",
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
    "Weigher",
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


T = TypeVar("T")

AUDITS = "minicrawl.audits"
"""Functions that return rows of `audit.checks.Check`."""
COMMANDS = "minicrawl.commands"
"""click commands."""
COMPANIONS = "minicrawl.companions"
"""`cli.companions.Companion`: extensions of `crawl`."""
CLUSTERS = "minicrawl.clusters"
"""`cli.companions.ClusterDoor`: the provider of `--cluster`."""
FIELDS = "minicrawl.fields"
"""Functions of a selector that return a parser, for `--field NAME=SELECTOR`."""
FILTERS = "minicrawl.filters"
"""Functions of a URL that return whether to fetch it, for `--scope NAME`."""
EXPORTERS = "minicrawl.exporters"
"""Writers of blocks of rows (`report.files.rows.Writer`), by file suffix."""
ORDERS = "minicrawl.orders"
"""Functions of a frontier that return a `crawl.schedule.orders.PageOrder`."""
PANELS = "minicrawl.panels"
"""Functions of a store that return starlette routes for the dashboard."""
PARSERS = "minicrawl.parsers"
"""Functions of a page's markup and of its URL that return text, for `page` and `export --with`."""
RANKS = "minicrawl.ranks"
"""Functions of a named graph and a progress function that return `ranks.scores.Scores`."""
SCORERS = "minicrawl.scorers"
"""Functions of arguments that return a `crawl.workers.scoring.Scorer`, for `crawl --score`."""
SECTIONS = "minicrawl.sections"
"""Functions of a snapshot and a progress function that return
`report.site.site_report.ReportSection`s."""
SINKS = "minicrawl.sinks"
"""Functions of a URL that return a context with an `on_page`, by the scheme of `crawl --sink`."""
STORED = "minicrawl.stored"
"""Functions of a store that return `report.progress.crawl_status.StoredPart`, by name."""
WEIGHTS = "minicrawl.weights"
"""Functions of a page's URL and of those of its links that return weights, for
`--weight-internal NAME`."""
WINDOWS = "minicrawl.windows"
"""Functions of a width and a number of measures that return an `opic.windows.window.Window`."""

_OWN = "minicrawl"
_RENAMED = {"minicrawl.texts": PARSERS}
"""Former names of groups, still accepted for one version."""
_FILE = "entry_points.txt"
_MARK = b"[minicrawl."
_DESCRIPTION = re.compile(r"([^-]+)(?:-.*)?\.(?:dist|egg)-info")


class EntryPoint(NamedTuple):
    """Name, and the object that a package registers under it: `module:attribute`."""

    name: str
    value: str
    package: str

    def load(self) -> object:
        """Import the object. Raise MinicrawlError if the package cannot be imported."""
        module, _, attribute = self.value.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except Exception as error:
            raise MinicrawlError(
                f"the package {self.package} adds {self.name!r}, which cannot be imported: "
                f"{type(error).__name__}: {error}"
            ) from error

    def summary(self) -> str:
        """Return the first line of the object's docstring, from its source, without importing it.

        Fall back to the name of the package.
        """
        module, _, attribute = self.value.partition(":")
        for place in sys.path:
            path = Path(place or ".", *module.split("."))
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if file.is_file() and (line := _first_line(file, attribute)):
                    return line
        return f"A command of the package {self.package}."


def _first_line(file: Path, function: str) -> str | None:
    source = file.read_text(encoding="utf-8", errors="replace")
    match = re.search(
        rf'^def {re.escape(function)}\((?:(?!:\n|\n[^\s)]).)*:\n +r?"""(.+?)(?:"""|\n)',
        source,
        re.MULTILINE | re.DOTALL,
    )
    return match and match[1].strip()


def entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; minicrawl's own come first and win."""
    by_name = _groups(tuple(sys.path)).get(group, {})
    return dict(sorted(by_name.items(), key=lambda item: (item[1].package != _OWN, item[0])))


def loaded(group: str) -> Iterator[Any]:
    """Import and yield the objects of a group, minicrawl's own first."""
    return (point.load() for point in entry_points(group).values())


@cache
def _groups(path: tuple[str, ...]) -> dict[str, dict[str, EntryPoint]]:
    """Return the entry points of all our groups. Of two packages with one name, the first wins, as
    on import.
    """
    groups: dict[str, dict[str, EntryPoint]] = {}
    packages: dict[str, list[tuple[str, EntryPoint]]] = {}
    for folder, name in (described for place in path for described in _descriptions(place)):
        if name not in packages:
            packages[name] = list(_named_in(folder, name))
    for _, points in sorted(packages.items(), key=lambda item: item[0] != _OWN):
        for group, point in points:
            groups.setdefault(group, {}).setdefault(point.name, point)
    return groups


def _descriptions(place: str) -> Iterator[tuple[str, str]]:
    """Yield the metadata folder and the name of each package installed in `place`."""
    try:
        entries = list(os.scandir(place or "."))
    except OSError:
        return
    for entry in entries:
        if match := _DESCRIPTION.fullmatch(entry.name):
            yield entry.path, match[1].replace("_", "-").lower()


def _named_in(folder: str, package: str) -> Iterator[tuple[str, EntryPoint]]:
    try:
        content = Path(folder, _FILE).read_bytes()
    except OSError:
        return
    if _MARK not in content:
        return
    group = ""
    for line in content.decode(errors="replace").splitlines():
        name, equals, value = line.partition("=")
        if line.startswith("["):
            group = line.strip(" []")
            group = _RENAMED.get(group, group)
        elif equals and group.startswith(_MARK[1:].decode()):
            yield group, EntryPoint(name.strip(), value.partition("[")[0].strip(), package)


def culprit(error: BaseException) -> str | None:
    """Return the package that raised the exception, with file and line; None for minicrawl.

    The innermost frame of either decides, since both call other packages.
    """
    packages = {
        point.value.partition(":")[0].partition(".")[0]: point.package
        for points in _groups(tuple(sys.path)).values()
        for point in points.values()
    }
    for frame, line in reversed([*walk_tb(error.__traceback__)]):
        name = str(frame.f_globals.get("__name__")).partition(".")[0]
        if name == _OWN:
            break
        if name in packages:
            return f"{packages[name]} ({frame.f_code.co_filename}, line {line})"
    return None


def required(group: str, name: str, noun: str) -> object:
    """Return the object of this name; raise UsageError if no installed package has it."""
    point = entry_points(group).get(name)
    if point is None:
        raise UsageError(f"{noun} {name!r} is unknown: install the package that defines it")
    return point.load()


class Registry(Mapping[str, T]):
    """Registry of built-in objects, followed by those of packages."""

    def __init__(self, group: str, built_in: Mapping[str, T]) -> None:
        self._group, self._built_in = group, built_in

    def __getitem__(self, name: str) -> T:
        if name in self._built_in:
            return self._built_in[name]
        return cast(T, entry_points(self._group)[name].load())

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in entry_points(self._group)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._built_in, *entry_points(self._group))))

    def __len__(self) -> int:
        return len(list(iter(self)))
