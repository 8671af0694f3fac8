"""Joining: copies the archives of a crawl's shards into one archive, incrementally.

Laws: each record is copied once and in order, damaged stretches included. A body that the joined
archive already has is not written again. If it has a different body with the same digest, the
copy gets another number, and revisits are updated to match. Dictionaries are renumbered, and
stored before the records that need them and at the start of each segment. After a crash, whatever
follows the last completed copy is truncated. One process copies at a time; others wait for the
lock.
"""

import fcntl
import json
import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.appender import RecordAppender
from minicrawl.archive.index import index_errors
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import (
    WITH_BODY,
    RecordKind,
    as_revisit,
    header_of,
    numbered,
    seal,
    with_digest_of,
)
from minicrawl.archive.segments import FIRST, SEGMENT_BYTES, ScanStep, Segments, disk_errors, scan
from minicrawl.own_files import make_folder, put_in_place

_STATE, _LOCK = "joined.json", "joining"
_AT_ONCE = 500
COPIED_AT_ONCE = 1 << 20


class JoinedSource(NamedTuple):
    place: int = FIRST
    """Place behind the last copied record."""
    entry: int = 0
    """Entry of the source's log with the place where the next copy begins, as the caller said."""
    dictionaries: tuple[tuple[int, int], ...] = ()
    """Pairs of dictionary numbers: in the source, in the joined archive."""
    digests: tuple[tuple[str, str], ...] = ()
    """Pairs of hexadecimal digests, source and joined, where a collision forced another number."""


class JoinedArchive:
    """Archive made by joining others. It holds an exclusive lock until it is closed."""

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Open the joined archive. Blocks while another process copies into it."""
        with disk_errors(folder):
            make_folder(folder)
            self._lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        self.folder = folder
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            end, self._sources = _read(folder / _STATE)
            Segments(folder).cut_off(end)
            with index_errors(folder):
                self._archive = ArchiveReader(folder, end, writes=True)
                self._archive.index.cut_off(end)
        except BaseException:
            os.close(self._lock)
            raise
        self._records = RecordAppender(
            self._archive,
            segment_bytes,
            lambda: sorted({number for number, _ in self._archive.index.dictionaries()}),
        )
        self._numbers: dict[int, int] = {}
        self._digests: dict[str, str] = {}

    @property
    def end(self) -> int:
        return self._records.end

    def source(self, name: str) -> JoinedSource:
        return self._sources.get(name, JoinedSource())

    def close(self) -> None:
        """Close the files and release the lock. All added records are kept."""
        self._archive.close()
        os.close(self._lock)

    def add(self, name: str, segments: Segments, end: int, entry: int = 0) -> None:
        """Copy the records of an archive up to `end` that were not copied before."""
        source, begin = self.source(name), self.end
        first = max(source.place, segments.begin(end))
        self._numbers, self._digests = dict(source.dictionaries), dict(source.digests)
        with index_errors(self.folder):
            index = self._archive.index
            index.begin(begin)
            try:
                steps = scan(segments, first, end)
                while block := list(islice(steps, _AT_ONCE)):
                    self._add_block(segments, block)
                self._records.write()
            except BaseException:
                self._records.go_to(begin)
                raise
            if self.end > begin:
                self._archive.segments.sync(begin, self.end)
            index.commit(self.end)
        numbers, digests = tuple(sorted(self._numbers.items())), tuple(self._digests.items())
        self._sources[name] = JoinedSource(max(first, end), entry, numbers, digests)
        path = self.folder / _STATE
        draft = path.with_suffix(".draft")
        with disk_errors(path):
            # The records are on disk already, so this state never counts records that are missing.
            # It is put in place as a whole, because a torn state would be read as an empty archive,
            # and everything copied once more.
            draft.write_text(json.dumps([self.end, self._sources]), "ascii")
            put_in_place(draft, path)

    def _add_block(self, segments: Segments, block: list[ScanStep]) -> None:
        self._records.expect(row.header for row in block if row.header is not None)
        for row in block:
            if row.header is None:
                end = row.place + row.length
                for place in range(row.place, end, COPIED_AT_ONCE):
                    count = min(COPIED_AT_ONCE, end - place)
                    self._records.put_bytes(segments.read_bytes(place, count))
            elif row.header.kind == RecordKind.DICTIONARY:
                number = row.header.dictionary
                if number not in self._numbers:
                    self._numbers[number] = self._next_number()
                    self._records.put(numbered(segments.read(row.place), self._numbers[number]))
                    self._records.write()
            else:
                record, number = segments.read(row.place), row.header.dictionary
                if number:
                    if number not in self._numbers:  # it is lost, and so is this record
                        self._numbers[number] = self._next_number()
                    record = numbered(record, self._numbers[number])
                self._records.put(self._reduced(record))

    def _reduced(self, record: bytes) -> bytes:
        """Return the record as a revisit if its body is already here."""
        header = header_of(record)
        if header.kind == RecordKind.REVISIT:
            digest = self._digests.get(header.digest.hex())
            if digest is None:
                return record
            changed = with_digest_of(record, header._replace(digest=bytes.fromhex(digest)))
            return seal(changed, header.at)
        if header.kind not in WITH_BODY:
            return record
        record, is_archived = self._records.named(record)
        digest_here = header_of(record).digest
        if digest_here != header.digest:
            self._digests[header.digest.hex()] = digest_here.hex()
        if is_archived:
            record = as_revisit(record, self._archive.codec)
        return seal(record, header.at)

    def _next_number(self) -> int:
        here = (number for source in self._sources.values() for _, number in source.dictionaries)
        return 1 + max((*here, *self._numbers.values()), default=0)


def _read(path: Path) -> tuple[int, dict[str, JoinedSource]]:
    """Return the saved end and sources, or an empty state if the file cannot be read."""
    with suppress(OSError, ValueError, TypeError):
        end, sources = json.loads(path.read_text("ascii"))
        known = {
            str(name): JoinedSource(
                place,
                entry,
                tuple((there, here) for there, here in numbers),
                tuple((there, here) for there, here in digests),
            )
            for name, (place, entry, numbers, digests) in sources.items()
        }
        return int(end), known
    return FIRST, {}
