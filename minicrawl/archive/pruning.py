"""Pruning: which answers go, because nobody needs them any more.

Law: an answer goes if any rule says so. What is left of a page is as it was: an answer whose body
another one had that goes gets that body.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass

from minicrawl.archive.index import IndexRow
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import WITH_BODY, RecordKind
from minicrawl.errors import UsageError
from minicrawl.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRules:
    """None is no rule."""

    versions: int | None = None
    """Answers that stay of each page, the last ones; and as many failures."""
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
        self._bodies, self._revisits, self._gone = array("q"), array("q"), array("q")
        self._gone_bytes = array("q")
        places, key, newer = array("q"), None, Counter[bool]()
        for row in archive.index.versions(archive.end):
            if row.key != key:
                key, newer = row.key, Counter()
            is_failure = row.kind == RecordKind.FAILURE
            self.records += 1
            self.record_bytes += row.record_bytes
            is_dropped = rules.drops(row, newer[is_failure])
            newer[is_failure] += 1
            self._note_body(row, is_dropped=is_dropped)
            if is_dropped:
                places.append(row.place)
                self.dropped_bytes += row.record_bytes
        self._places = array("q", sorted(places))

    def _note_body(self, row: IndexRow, *, is_dropped: bool) -> None:
        if row.kind in WITH_BODY:
            (self._gone if is_dropped else self._bodies).append(row.digest)
            if is_dropped:
                self._gone_bytes.append(row.record_bytes)
        elif row.kind == RecordKind.REVISIT and not is_dropped:
            self._revisits.append(row.digest)

    def refuse_all(self, archive: ArchiveReader) -> None:
        """An archive without an answer is none. Raises UsageError."""
        if self.records and self.dropped == self.records:
            raise UsageError(
                f"this would remove all {counted(self.records, 'answer')}: delete "
                f"{archive.segments.folder} if that is what you want"
            )

    def freed_bytes(self) -> int:
        """How much smaller the archive becomes: bodies that others need stay."""
        import numpy as np

        needed = np.setdiff1d(np.array(self._revisits), np.array(self._bodies))
        gone, first = np.unique(np.array(self._gone), return_index=True)
        moved = np.array(self._gone_bytes)[first][np.isin(gone, needed)].sum()
        return self.dropped_bytes - int(moved)

    @property
    def dropped(self) -> int:
        """How many answers go."""
        return len(self._places)

    def keeps(self, row: IndexRow) -> bool:
        """Whether the answer stays."""
        at = bisect_left(self._places, row.place)
        return at == len(self._places) or self._places[at] != row.place
