"""What other packages add to minicrawl, by entry points in groups of these names.

Laws: what is built in cannot be replaced. A package is imported when what it adds is used, and not
before. Where no package adds anything, that is found out by names of files alone, since commands
start in a tenth of a second.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from minicrawl.errors import MinicrawlError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

COMMANDS = "minicrawl.commands"
"""Commands of click, beside `crawl` and the others."""
EXPORTERS = "minicrawl.exporters"
"""Writers of blocks of rows (`export.formats.Writer`), by the suffix of the file."""
RANKS = "minicrawl.ranks"
"""Functions of a named graph and of a report of progress that return `ranks.scores.Scores`."""
WINDOWS = "minicrawl.windows"
"""Functions of a width and of a number of measures that return an `opic.windows.window.Window`."""

_FILE = "entry_points.txt"
_MARK = b"[minicrawl."


def entry_points(group: str) -> dict[str, "EntryPoint"]:
    """The entry points of a group by name. Of two packages with one name the first one counts."""
    if not _are_there_any(tuple(sys.path)):
        return {}
    from importlib import metadata

    found: dict[str, EntryPoint] = {}
    for point in metadata.entry_points(group=group):
        found.setdefault(point.name, point)
    return dict(sorted(found.items()))


@cache
def _are_there_any(path: tuple[str, ...]) -> bool:
    """Whether a package on this path names a group of ours."""
    return any(_names_a_group(folder) for place in path for folder in _descriptions(place))


def _descriptions(place: str) -> Iterator[str]:
    """The folders that describe the packages which are installed here."""
    try:
        entries = list(os.scandir(place or "."))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith((".dist-info", ".egg-info")):
            yield entry.path


def _names_a_group(folder: str) -> bool:
    try:
        return _MARK in Path(folder, _FILE).read_bytes()
    except OSError:
        return False


class Registry(Mapping[str, T]):
    """What is built in, and behind it what packages add."""

    def __init__(self, group: str, built_in: Mapping[str, T]) -> None:
        self._group, self._built_in = group, built_in

    def __getitem__(self, name: str) -> T:
        if name in self._built_in:
            return self._built_in[name]
        return cast(T, loaded(entry_points(self._group)[name]))

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in entry_points(self._group)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._built_in, *entry_points(self._group))))

    def __len__(self) -> int:
        return len(list(iter(self)))


def loaded(point: "EntryPoint") -> object:
    """What an entry point names. A package that cannot be imported is not a bug of ours."""
    try:
        return point.load()
    except Exception as error:
        raise MinicrawlError(
            f"the package {package_of(point)} adds {point.name!r}, which cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error


def package_of(point: "EntryPoint") -> str:
    """The name of the package that an entry point is of."""
    return "?" if point.dist is None else point.dist.name
