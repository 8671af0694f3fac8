"""Pruning: which answers to delete.

Laws: an answer is deleted if any rule says so. The answers that stay are unchanged: a revisit
whose original is deleted receives the body.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass

from minicrawl.archive.index import IndexRow
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import ALONE, WITH_BODY, RecordKind
from minicrawl.errors import UsageError
from minicrawl.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRules:
    """Rules that select the answers to delete. A rule that is None does not apply."""

    versions: int | None = None
    """Number of versions of each page to keep, of its rendered DOM, and of its failures."""
    before: float | None = None
    """Time before which answers are deleted."""
    keys: Set[int] | None = None
    """Keys of the pages to keep: answers of all other pages are deleted."""
    gone: Set[int] = frozenset()
    """Keys of the pages whose answers are deleted."""
    within: Set[int] | None = None
    """Keys of the only pages to which the rules apply."""

    def drops(self, row: IndexRow, newer: int) -> bool:
        """Return True if an answer is deleted, given how many newer ones its page has."""
        if self.within is not None and row.key not in self.within:
            return False
        if self.versions is not None and newer >= self.versions:
            return True
        if row.key in self.gone or (self.before is not None and row.at < self.before):
            return True
        return self.keys is not None and row.key not in self.keys


class Pruning:
    """Plan of a pruning: which records of an archive it deletes, and what that frees."""

    def __init__(self, archive: ArchiveReader, rules: PruneRules) -> None:
        self.records = self.record_bytes = 0
        """Number and bytes of all answers before pruning."""
        self.dropped_bytes = 0
        """Bytes of the deleted answers, not counting bodies that move to revisits."""
        self._bodies, self._revisits, self._gone = array("q"), array("q"), array("q")
        self._gone_bytes = array("q")
        places, key, newer = array("q"), None, Counter[int]()
        for row in archive.index.versions(archive.end):
            if row.key != key:
                key, newer = row.key, Counter()
            kind = row.kind if row.kind in ALONE else RecordKind.PAGE
            self.records += 1
            self.record_bytes += row.record_bytes
            is_dropped = rules.drops(row, newer[kind])
            newer[kind] += 1
            if row.kind in WITH_BODY:
                (self._gone if is_dropped else self._bodies).append(row.digest)
                if is_dropped:
                    self._gone_bytes.append(row.record_bytes)
            elif row.kind == RecordKind.REVISIT and not is_dropped:
                self._revisits.append(row.digest)
            if is_dropped:
                places.append(row.place)
                self.dropped_bytes += row.record_bytes
        self._places = array("q", sorted(places))

    def refuse_all(self, archive: ArchiveReader) -> None:
        if self.records and self.dropped == self.records:
            raise UsageError(
                f"this would remove all {counted(self.records, 'answer')}: delete "
                f"{archive.segments.folder} if that is what you want"
            )

    def freed_bytes(self) -> int:
        """Return the estimated reduction in bytes. Bodies that other records need are kept."""
        import numpy as np

        needed = np.setdiff1d(np.array(self._revisits), np.array(self._bodies))
        gone, first = np.unique(np.array(self._gone), return_index=True)
        moved = np.array(self._gone_bytes)[first][np.isin(gone, needed)].sum()
        return self.dropped_bytes - int(moved)

    @property
    def dropped(self) -> int:
        return len(self._places)

    def keeps(self, row: IndexRow) -> bool:
        at = bisect_left(self._places, row.place)
        return at == len(self._places) or self._places[at] != row.place
