"""Archive writer: appends records in step with the store's commits.

Archive and store are separate files, and a crash may come between their writes. The store is the
only judge: its transaction saves the steps of a batch together with `end`, the place behind the
batch's records. Records reach the disk before that transaction, and bytes behind `end` count for
nothing. Hence the order of a batch:

    1  append    write the records behind `end`, fsync, commit the index; return the new end
    2  (store)   commit the steps and the new end, in one transaction
    3  confirm   the writer adopts the new end

Say the store has end 700, and answers A and B (60 and 40 bytes) follow:

    event                   segment   store   writer   after a crash here
    append([A])             760       700     700      cut off at 700: A is gone, and so is its
                                                       step; the page is fetched again
    store commits           760       760     700      A counts
    confirm()               760       760     760      A counts
    append([B])             800       760     760      cut off at 760: only B is gone
    store fails (full)      800       760     760      the same; the caller repeats step 2, or
                                                       appends again, which overwrites B

A kill therefore never leaves a step without its answer, nor a torn record that a reader could see:
readers, too, stop at the store's end. The index is derived: it may be ahead of the store (`begin`
deletes its rows behind the end) or behind it (it catches up from the segments). Refused: a journal
of the archive's own, or the bodies in SQLite; either writes every body twice.

`prune` uses the same order, with copies in new segments (see `segments`).

Laws: a body that is in the archive is not written again. A dictionary precedes every record that
needs it, and is repeated at the start of each segment.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.index import IndexRow, index_errors, short
from minicrawl.archive.reader import TRAINED_AGAIN, TRAINED_AT, ArchiveReader, leave_spare, trained
from minicrawl.archive.record import (
    EMPTY,
    WITH_BODY,
    Header,
    RecordKind,
    as_revisit,
    header_of,
    is_whole,
    key_of,
    pack,
    pack_dictionary,
    pack_revisit,
    seal,
    with_digest_of,
    with_next_number,
)
from minicrawl.archive.segments import (
    SEGMENT_BYTES,
    Segments,
    disk_errors,
    offset_of,
    place_at,
    segment_of,
)
from minicrawl.errors import Damaged, UsageError
from minicrawl.model import FailureKind, KeptAnswer, Response
from minicrawl.wording import counted

_WRITTEN_AT_ONCE = 1 << 22


class _Mark(NamedTuple):
    """State of an archive: end, pages with a body, newest dictionary, when to train the next."""

    end: int
    pages: int
    dictionary: int
    train_at: int  # pages


class _Answer(NamedTuple):
    answer: KeptAnswer
    header: Header | None
    """Header of the answer's record, if it has a record."""


class ArchiveWriter:
    """Archive open for writing. The caller holds the lock of the store."""

    def __init__(self, folder: Path, end: int, *, only_changes: bool = False) -> None:
        """Open the archive and discard everything behind `end`.

        With `only_changes`, an answer that repeats the URL's previous body is not recorded.
        """
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        segments = Segments(folder)
        segments.cut_off(end)
        self.was_shortened = segments.end < end
        with index_errors(folder):
            self._archive = ArchiveReader(folder, min(segments.end, end), writes=True)
            self._archive.remove_pruned()
            self._mark = self._ahead = _restored(self._archive)
        self._only_changes = only_changes
        self._unwritten: list[bytes] = []
        self._known: set[int] = set()
        self._written = self._mark.end

    @property
    def reader(self) -> ArchiveReader:
        """Reader of this archive."""
        return self._archive

    @property
    def end(self) -> int:
        """Place behind the last confirmed record."""
        return self._mark.end

    @property
    def dictionary(self) -> int:
        """Number of the newest dictionary; 0 if there is none."""
        return self._mark.dictionary

    def append(self, answers: Iterable[KeptAnswer]) -> int:
        """Write answers behind the last confirmed record. Return the place behind them."""
        self._ahead, begin = self._mark, self._mark.end
        self._unwritten.clear()
        self._written = begin
        with index_errors(self._archive.segments.folder):
            self._archive.index.begin(begin)
            parsed = [
                _Answer(one, header_of(one.record) if one.record else None) for one in answers
            ]
            digests = [short(one.header.digest) for one in parsed if one.header is not None]
            self._known = self._archive.index.known(digests)
            for one in parsed:
                self._append(one)
            if self._ahead.pages >= self._ahead.train_at:
                self._train()
            self._write()
            if self._ahead.end > begin:
                self._archive.segments.sync(begin, self._ahead.end)
            self._archive.index.commit(self._ahead.end)
        return self._ahead.end

    def confirm(self) -> None:
        """Adopt the last append or pruning: the store has committed its end."""
        self._mark = self._ahead

    def prune(self, stays: Callable[[IndexRow], bool]) -> int:
        """Copy the records that `stays` accepts into new segments. Return the new end.

        The old records are dropped once the store commits that end; then call `confirm`.
        """
        if not self.remove_pruned():
            raise UsageError(f"{self._archive.segments.folder} is being read: try again later")
        archive, end = self._archive, self._mark.end
        begin = self._written = place_at(segment_of(end) + 1, 0)
        self._ahead = self._mark._replace(end=begin, pages=0)
        with index_errors(archive.segments.folder):
            archive.index.begin(end)
            for number in sorted({name for name, _ in archive.index.dictionaries()}):
                self._put(pack_dictionary(number, archive.dictionary(number)))
            for row in archive.index.rows(end):
                if row.kind != RecordKind.DICTIONARY and stays(row):
                    with suppress(Damaged):  # a record that is damaged already is not copied
                        self._put(self._surviving(row, begin))
            self._write()
            archive.segments.sync(begin, self._ahead.end)
            archive.segments.prune(begin, self._ahead.end)
            archive.index.commit(self._ahead.end)
        return self._ahead.end

    def _surviving(self, row: IndexRow, begin: int) -> bytes:
        """Return the record to copy; a revisit gets the body if its original is deleted."""
        record = self._archive.segments.read(row.place)
        if not is_whole(record):
            raise Damaged("its checksum is wrong")
        self._write()
        header = header_of(record)
        digest = header.digest
        has_body = row.kind != RecordKind.REVISIT
        if has_body or any(True for _ in self._archive.index.with_digest(digest, begin)):
            return record
        answer = self._archive.answer(row.place)
        cut = FailureKind.RESET if answer.cut else None
        found = Response(answer.status, answer.headers, answer.body, cut=cut, cut_detail=answer.cut)
        number, codec = self._ahead.dictionary, self._archive.codec
        packed = pack(answer.kind, answer.url, found, codec, number=number, spelled=answer.spelled)
        return seal(with_digest_of(packed, header), answer.at)

    def remove_pruned(self) -> bool:
        """Delete pruned segments unless others read them. Return True if none are left."""
        self._archive.go_on_to(self._mark.end)
        return self._archive.remove_pruned()

    def close(self, *, cuts_off: bool = True) -> None:
        """Close the files. With `cuts_off`, also discard unconfirmed records."""
        self._archive.close()
        if cuts_off:
            self._archive.segments.cut_off(self._mark.end)

    # ------------------------------------------------------------ one record

    def _append(self, one: _Answer) -> None:
        answer, header = one
        record = self._reduced(answer, header) if header else self._unchanged(answer.url)
        if record is not None:
            self._put(seal(record, answer.at))

    def _reduced(self, answer: KeptAnswer, header: Header) -> bytes | None:
        """Return the record, as a revisit if its body is archived, or None if it is redundant."""
        record, digest = answer.record, header.digest
        if header.kind == RecordKind.FAILURE:
            return record
        while digest != EMPTY and (original := self._original(digest)) is not None:
            if self._archive.has_body_of(original, record):
                last = self._last(header.key) if self._only_changes else None
                if last is not None and last.digest == digest:
                    return None
                return as_revisit(record, self._archive.codec)
            record = with_next_number(record)
            digest = header_of(record).digest
        return record

    def _unchanged(self, url: str) -> bytes | None:
        last = None if self._only_changes else self._last(key_of(url))
        return None if last is None else pack_revisit(url, 304, last)

    def _original(self, digest: bytes) -> int | None:
        """Return the place of the body with this digest, or None."""
        if short(digest) not in self._known:
            self._known.add(short(digest))
            return None
        self._write()
        return self._archive.place_of_body(digest)

    def _last(self, key: int) -> Header | None:
        """Return the header of the URL's last record that is not a failure, or None."""
        self._write()
        for row in reversed(self._archive.index.of_key(key, self._ahead.end)):
            if row.kind != RecordKind.FAILURE:
                with suppress(Damaged):
                    return self._archive.segments.header(row.place)
                break
        return None

    def _put(self, record: bytes) -> None:
        """Append a record; begin a new segment if the current one is full."""
        if offset_of(self._ahead.end) >= SEGMENT_BYTES:
            self._write()
            self._written = place_at(segment_of(self._ahead.end) + 1, 0)
            self._ahead = self._ahead._replace(end=self._written)
            if self._ahead.dictionary:
                content = self._archive.dictionary(self._ahead.dictionary)
                self._put(pack_dictionary(self._ahead.dictionary, content))
        header = header_of(record)
        end, pages, dictionary, train_at = self._ahead
        self._archive.index.add(end, header)
        self._unwritten.append(record)
        pages += header.kind in WITH_BODY
        self._ahead = _Mark(end + len(record), pages, dictionary, train_at)
        if self._ahead.end - self._written > _WRITTEN_AT_ONCE:
            self._write()

    def _write(self) -> None:
        if self._unwritten:
            self._archive.segments.write(self._written, b"".join(self._unwritten))
            self._unwritten.clear()
            self._written = self._ahead.end
        self._archive.index.flush()

    def _train(self) -> None:
        """Try to train a dictionary. Success or not, the next try waits for many more pages."""
        self._write()
        number = self._ahead.dictionary + 1
        self._ahead = self._ahead._replace(train_at=TRAINED_AGAIN * self._ahead.pages)
        record = trained(self._archive, number)
        if record is not None:
            self._put(record)
            leave_spare(self._archive.segments, number, record)
            self._ahead = self._ahead._replace(dictionary=number)


def _restored(archive: ArchiveReader) -> _Mark:
    """Return the state of an archive that was just opened, and trim its index to the end."""
    index, end = archive.index, archive.end
    index.begin(end)
    index.commit(end)
    pages = sum(one.records for one in index.totals(end) if one.kind in WITH_BODY)
    number = max((name for name, _ in index.dictionaries()), default=0)
    if number:
        with suppress(Damaged):
            record = pack_dictionary(number, archive.dictionary(number))
            leave_spare(archive.segments, number, record)
    return _Mark(end, pages, number, TRAINED_AT * TRAINED_AGAIN**number)


# ================================================================ pruning
#
# Pruning: which answers to delete.
#
# Laws: an answer is deleted if any rule says so. The answers that stay are unchanged: a revisit
# whose original is deleted receives the body.


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRules:
    """Rules that select the answers to delete. A rule that is None does not apply."""

    versions: int | None = None
    """Number of versions to keep of each page, newest first, and likewise of failures."""
    before: float | None = None
    """Time before which answers are deleted."""
    keys: Set[int] | None = None
    """Keys of the pages whose answers are kept."""

    def drops(self, row: IndexRow, newer: int) -> bool:
        """Return True if an answer is deleted, given how many newer ones its page has."""
        if self.versions is not None and newer >= self.versions:
            return True
        if self.before is not None and row.at < self.before:
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
        """Raise UsageError if the rules would delete every answer."""
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
        """Number of answers to delete."""
        return len(self._places)

    def keeps(self, row: IndexRow) -> bool:
        """Return True if the answer is kept."""
        at = bisect_left(self._places, row.place)
        return at == len(self._places) or self._places[at] != row.place
