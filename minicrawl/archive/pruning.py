"""Pruning: which answers go, because nobody needs them any more.

Law: an answer goes if any rule says so. What is left of a page is as it was: an answer whose body
another one had that goes gets that body.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Set
from dataclasses import dataclass

from minicrawl.archive.index import IndexRow
from minicrawl.archive.reader import ArchiveReader


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRules:
    """None is no rule."""

    versions: int | None = None
    """Answers that stay of each page, the last ones."""
    before: float | None = None
    """Older ones go."""
    keys: Set[int] | None = None
    """Of the pages whose answers stay."""

    def drops(self, row: IndexRow, newer: int) -> bool:
        """Whether an answer goes of whose page so many newer ones are kept."""
        if self.versions is not None and newer >= self.versions:
            return True
        if self.before is not None and row.at < self.before:
            return True
        return self.keys is not None and row.key not in self.keys


class Pruning:
    """The answers that go from an archive."""

    def __init__(self, archive: ArchiveReader, rules: PruneRules) -> None:
        self.records = self.record_bytes = 0
        """Of all answers before."""
        self.dropped_bytes = 0
        """Without what answers grow by that get a body."""
        places, key, newer = array("q"), None, 0
        for row in archive.index.versions(archive.end):
            newer = newer + 1 if row.key == key else 0
            key = row.key
            self.records += 1
            self.record_bytes += row.record_bytes
            if rules.drops(row, newer):
                places.append(row.place)
                self.dropped_bytes += row.record_bytes
        self._places = array("q", sorted(places))

    @property
    def dropped(self) -> int:
        """How many answers go."""
        return len(self._places)

    def keeps(self, row: IndexRow) -> bool:
        """Whether the answer stays."""
        at = bisect_left(self._places, row.place)
        return at == len(self._places) or self._places[at] != row.place
