"""The writer: appends records behind the last commit.

Laws: what is appended counts from `confirm` on, which is called when the store has committed the
steps of these answers; until then the next append writes over it. The next start cuts off what the
store does not know of. A body that is in the archive is not written again. A dictionary is in the
archive before any record that needs it, and at the beginning of each segment.
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

from minicrawl.archive.digest import EMPTY
from minicrawl.archive.index import IndexRow, index_errors, short
from minicrawl.archive.reader import TRAINED_AGAIN, TRAINED_AT, ArchiveReader, leave_spare, trained
from minicrawl.archive.record import (
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
    read,
    read_packed,
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
    """How far an archive has come."""

    end: int
    pages: int
    dictionary: int
    train_at: int  # pages


class _Answer(NamedTuple):
    answer: KeptAnswer
    header: Header | None
    """Of its record, if it has one."""


class ArchiveWriter:
    """An archive that is open for writing. Whoever opens it holds the lock of its store."""

    def __init__(self, folder: Path, end: int, *, only_changes: bool = False) -> None:
        """Cuts off what lies behind `end`; `only_changes` drops answers that say nothing new."""
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
        """What is in it."""
        return self._archive

    @property
    def end(self) -> int:
        """The place behind the last record that was confirmed."""
        return self._mark.end

    @property
    def dictionary(self) -> int:
        """The number of the newest dictionary; 0 if there is none."""
        return self._mark.dictionary

    def append(self, answers: Iterable[KeptAnswer]) -> int:
        """Write answers behind the last confirmed record; answers with the place behind them."""
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
        """What was appended last stays."""
        self._mark = self._ahead

    def prune(self, stays: Callable[[IndexRow], bool]) -> int:
        """Copy what stays into new segments, and keep nothing else; answers with their end.

        It counts from `confirm` on.
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
                    with suppress(Damaged):  # it was lost before
                        self._put(self._surviving(row, begin))
            self._write()
            archive.segments.sync(begin, self._ahead.end)
            archive.segments.prune(begin, self._ahead.end)
            archive.index.commit(self._ahead.end)
        return self._ahead.end

    def _surviving(self, row: IndexRow, begin: int) -> bytes:
        """The record; with its body, if the one that has that goes."""
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
        """Remove what was pruned, unless somebody reads it; whether it is gone."""
        self._archive.go_on_to(self._mark.end)
        return self._archive.remove_pruned()

    def close(self, *, cuts_off: bool = True) -> None:
        """Drop what was not confirmed; without `cuts_off`, change nothing."""
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
        """The record, without its body if that is in the archive; None if it says nothing new."""
        record, digest = answer.record, header.digest
        if header.kind == RecordKind.FAILURE:
            return record
        while digest != EMPTY and (original := self._original(digest)) is not None:
            if self._has_body_of(original, record):
                last = self._last(header.key) if self._only_changes else None
                if last is not None and last.digest == digest:
                    return None
                return as_revisit(record, self._archive.codec)
            record = with_next_number(record)
            digest = header_of(record).digest
        return record

    def _has_body_of(self, place: int, record: bytes) -> bool:
        """Whether the record here has this body too: not if it is damaged, or another body has the
        same hash.
        """
        archive = self._archive
        try:
            original = read(archive.segments.read(place), archive.codec)
        except Damaged:
            return False
        return original.body == read_packed(record, archive.codec).body

    def _unchanged(self, url: str) -> bytes | None:
        last = None if self._only_changes else self._last(key_of(url))
        return None if last is None else pack_revisit(url, 304, last)

    def _original(self, digest: bytes) -> int | None:
        """Where the body with this digest is, if it is in the archive."""
        if short(digest) not in self._known:
            self._known.add(short(digest))
            return None
        self._write()
        return self._archive.place_of_body(digest)

    def _last(self, key: int) -> Header | None:
        """The record of the URL when it was read last."""
        self._write()
        for row in reversed(self._archive.index.of_key(key, self._ahead.end)):
            if row.kind != RecordKind.FAILURE:
                with suppress(Damaged):
                    return self._archive.segments.header(row.place)
                break
        return None

    def _put(self, record: bytes) -> None:
        """Behind the last one, in a new segment if this one is long enough."""
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
        """Try to learn a dictionary of what is there; whatever comes of it, not again for long."""
        self._write()
        number = self._ahead.dictionary + 1
        self._ahead = self._ahead._replace(train_at=TRAINED_AGAIN * self._ahead.pages)
        record = trained(self._archive, number)
        if record is not None:
            self._put(record)
            leave_spare(self._archive.segments, number, record)
            self._ahead = self._ahead._replace(dictionary=number)


def _restored(archive: ArchiveReader) -> _Mark:
    """What is there; the index forgets what was cut off."""
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
# Pruning: which answers go, because nobody needs them any more.
#
# Law: an answer goes if any rule says so. What is left of a page is as it was: an answer whose body
# another one had that goes gets that body.


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
