"""Archive writer: appends records in step with the store's commits.

Archive and store are separate files, and a crash may come between their writes. The store is the
only judge: its transaction saves the steps of a batch together with `end`, the place behind the
batch's records. Records reach the disk before that transaction, and bytes behind `end` count for
nothing. Hence the order of a batch:

    1  append    write the records behind `end`, fsync, commit the index; return the new end
    2  (store)   commit the steps and the new end, in one transaction
    3  confirm   the writer adopts the new end

Example: the store has end 700, and records A (60 bytes) and B (40 bytes) follow:

    event                   segment   store   writer   after a crash here
    append([A])             760       700     700      cut off at 700: A is gone, and so is its
                                                       step; the page is fetched again
    store commits           760       760     700      A counts
    confirm()               760       760     760      A counts
    append([B])             800       760     760      cut off at 760: only B is gone
    store fails             800       760     760      the store says: B is gone, or B counts

A commit that fails may have reached the disk all the same: if its sync failed, only the next start
sees whether the store has it. So nothing is cut off then, nor when the writer is closed, but only
at the start. A caller that goes on, as when a full disk has room again, repeats step 2 with the
same steps until it succeeds; only then does it append again.

A kill therefore never leaves a step without its answer, nor a torn record that a reader could see:
readers, too, stop at the store's end. The index is derived: it may be ahead of the store (`begin`
deletes its rows behind the end) or behind it (it catches up from the segments). Refused: a journal
of the archive's own, or the bodies in SQLite; either writes every body twice.

`prune` uses the same order, with copies in new segments (see `segments`).

Laws: a body that is in the archive is not written again. A dictionary precedes every record that
needs it, and is repeated at the start of each segment.
"""

from __future__ import annotations

import fcntl
import json
import os
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from minicrawl.archive.reader import (
    ArchiveReader,
    Found,
    IndexRow,
    index_errors,
    scan,
    short,
)
from minicrawl.archive.record import (
    ALONE,
    EMPTY,
    HEADER_BYTES,
    MOST_OF_A_HEAD,
    PAYLOAD,
    WITH_BODY,
    Header,
    RecordKind,
    as_revisit,
    header_of,
    is_whole,
    numbered,
    pack_again,
    pack_dictionary,
    pieces,
    repacked,
    seal,
    sealed_header,
    spare_path,
    with_digest_of,
    with_next_number,
)
from minicrawl.archive.segments import (
    FIRST,
    SEGMENT_BYTES,
    Segments,
    StoredPayload,
    disk_errors,
    offset_of,
    place_at,
    segment_of,
)
from minicrawl.errors import Damaged, UsageError
from minicrawl.model import KeptAnswer
from minicrawl.own_files import make_folder, sync
from minicrawl.wording import counted

_WRITTEN_AT_ONCE = 1 << 22


class RecordAppender:
    """Buffered writer that appends records to the segments and the index of an archive."""

    def __init__(
        self, archive: ArchiveReader, segment_bytes: int, repeated: Callable[[], Iterable[int]]
    ) -> None:
        """`repeated` returns the numbers of the dictionaries that begin each new segment."""
        self._archive, self._segment_bytes, self._repeated = archive, segment_bytes, repeated
        self._unwritten: list[bytes] = []
        self._known: set[int] = set()
        self.go_to(archive.end)

    def go_to(self, end: int) -> None:
        """Drop the records that are not written yet, and go on at `end`."""
        self._unwritten.clear()
        self.end = self._written = end
        """Place behind the last record, written or not."""

    def expect(self, headers: Iterable[Header]) -> None:
        """Look up together which bodies of the next records may be archived already."""
        self._archive.index.flush()
        self._known = self._archive.index.known([short(header.digest) for header in headers])

    def put(self, record: bytes) -> None:
        """Append a sealed record; begin a new segment if the current one is full."""
        if offset_of(self.end) >= self._segment_bytes:
            self._begin_segment()
        self._archive.index.add(self.end, header_of(record))
        self.put_bytes(record)

    def put_file(self, record: bytes, at: float, payload: Iterable[bytes]) -> None:
        """Append a record whose payload comes in pieces; `record` is its header, written last."""
        if offset_of(self.end) >= self._segment_bytes:
            self._begin_segment()
        self.write()
        # The payload is written while its checksum is computed: it is too large to be read twice.
        sealed = sealed_header(record, at, self._written_pieces(payload))
        self._archive.segments.write(self.end, sealed)
        header = header_of(sealed)
        self._archive.index.add(self.end, header)
        self.go_to(self.end + header.record_bytes)

    def _written_pieces(self, payload: Iterable[bytes]) -> Iterator[bytes]:
        place = self.end + HEADER_BYTES
        for piece in payload:
            self._archive.segments.write(place, piece)
            place += len(piece)
            yield piece

    def put_bytes(self, content: bytes) -> None:
        """Append bytes, without an entry in the index."""
        self._unwritten.append(content)
        self.end += len(content)
        if self.end - self._written > _WRITTEN_AT_ONCE:
            self.write()

    def _begin_segment(self) -> None:
        self.write()
        numbers = list(self._repeated())
        self.go_to(place_at(segment_of(self.end) + 1, 0))
        for number in numbers:
            with suppress(Damaged):
                self.put(pack_dictionary(number, self._archive.dictionary(number)))

    def write(self) -> None:
        """Write the waiting records, so that they can be read and found."""
        if self._unwritten:
            self._archive.segments.write(self._written, b"".join(self._unwritten))
            self.go_to(self.end)
        self._archive.index.flush()

    def named(self, record: bytes, payload: IO[bytes] | None = None) -> tuple[bytes, bool]:
        """Return the record with the digest that its body has here, and whether it is archived.

        The digest gets another number if a different body with the same hash is archived. `payload`
        is that of the record, if it is in a file.
        """
        digest = header_of(record).digest
        while digest != EMPTY and (place := self._place_of_body(digest)) is not None:
            # Bytes are compared, not only hashes. The digest has 64 bits and a length, so a
            # collision can be made on purpose; unless bodies are compared, the archive would then
            # show one page in place of another.
            if self._archive.has_body_of(place, record, payload):
                return record, True
            record = with_next_number(record)
            digest = header_of(record).digest
        return record, False

    def _place_of_body(self, digest: bytes) -> int | None:
        # Most bodies are neither in the index nor in this batch, and need no query: `expect` looked
        # the whole batch up at once, and bodies of the batch are added here.
        if short(digest) not in self._known:
            self._known.add(short(digest))
            return None
        self.write()
        return self._archive.place_of_body(digest)


class _ArchiveState(NamedTuple):
    """State of an archive: end, pages with a body, newest dictionary, when to train the next."""

    end: int
    pages: int
    dictionary: int
    train_at: int  # pages


class _Answer(NamedTuple):
    """Answer to append, and the header of its record."""

    answer: KeptAnswer
    header: Header


class ArchiveWriter:
    """Archive open for writing. The caller holds the lock of the store."""

    def __init__(
        self,
        folder: Path,
        end: int,
        *,
        only_changes: bool = False,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Open the archive and discard everything behind `end`.

        With `only_changes`, an answer that repeats the URL's previous body is not recorded. A
        segment is full when it has `segment_bytes`.
        """
        with disk_errors(folder):
            make_folder(folder)
        segments = Segments(folder)
        segments.cut_off(end)
        for file in folder.glob(f"{PAYLOAD}*"):  # left by a crawl that was killed
            with disk_errors(folder):
                file.unlink()
        self.was_shortened = segments.end < end
        with index_errors(folder):
            # The files may be shorter than the store says, for example if they were copied at
            # another moment. The archive then ends where they end, and lost records are not looked
            # for.
            self._archive = ArchiveReader(folder, min(segments.end, end), writes=True)
            self._archive.remove_pruned()
            # `_mark` is what the store has committed, `_ahead` what will hold if it commits the
            # next batch. A commit that fails leaves `_mark` alone, so that the next `append` begins
            # at the old end.
            self._mark = self._ahead = _restored(self._archive)
        self._only_changes = only_changes
        self._records = RecordAppender(
            self._archive, segment_bytes, lambda: filter(None, [self._ahead.dictionary])
        )

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
        with index_errors(self._archive.segments.folder):
            # An earlier attempt at this batch may have left rows and bytes here. The store has not
            # committed them, so they do not exist, and are overwritten.
            self._archive.index.begin(begin)
            self._records.go_to(begin)
            parsed = [_Answer(one, header_of(one.record)) for one in answers]
            self._records.expect(one.header for one in parsed)
            for one in parsed:
                self._append(one)
            if self._ahead.pages >= self._ahead.train_at:
                self._train()
            self._records.write()
            end = self._records.end
            if end > begin:
                # The caller commits the steps of these answers next, and a power cut must not leave
                # a step without its answer: so the bytes must be on disk first.
                self._archive.segments.sync(begin, end)
            self._archive.index.commit(end)
        self._ahead = self._ahead._replace(end=end)
        return end

    def confirm(self) -> None:
        """Adopt the last append or pruning: the store has committed its end."""
        self._mark = self._ahead

    def prune(self, stays: Callable[[IndexRow], bool], *, retrains: bool = False) -> int:
        """Copy the records that `stays` accepts into new segments. Return the new end.

        The old records are dropped once the store commits that end; then call `confirm`. With
        `retrains`, the old dictionaries are dropped too, because they contain pieces of pages.
        """
        if not self.remove_pruned():
            raise UsageError(f"{self._archive.segments.folder} is being read: try again later")
        archive, end = self._archive, self._mark.end
        # A new segment, so that the old segments can later be deleted as whole files.
        begin = place_at(segment_of(end) + 1, 0)
        self._ahead = self._mark._replace(pages=0)
        try:
            return self._prune(stays, begin, retrains=retrains)
        except BaseException:  # before the store has heard of it
            archive.segments.cut_off(end)
            raise

    def _prune(self, stays: Callable[[IndexRow], bool], begin: int, *, retrains: bool) -> int:
        archive, end = self._archive, self._mark.end
        with index_errors(archive.segments.folder):
            archive.index.begin(end)
            self._records.go_to(begin)
            if retrains:
                self._retrain(stays)
            else:
                for number in sorted({name for name, _ in archive.index.dictionaries()}):
                    self._put(pack_dictionary(number, archive.dictionary(number)))
            for row in archive.index.rows(end):
                if row.kind != RecordKind.DICTIONARY and stays(row):
                    with suppress(Damaged):  # a record that is damaged already is not copied
                        self._copy(row, begin, self._ahead.dictionary if retrains else None)
            self._records.write()
            new_end = self._records.end
            if new_end == begin:  # nothing stays, yet the archive ends in a segment
                archive.segments.write(begin, b"")
            archive.segments.sync(begin, new_end)
            archive.segments.prune(begin, new_end)
            archive.index.commit(new_end)
        self._ahead = self._ahead._replace(end=new_end)
        return new_end

    def _retrain(self, stays: Callable[[IndexRow], bool]) -> None:
        """Begin with a new dictionary, trained on the records that stay, if they are enough."""
        number = self._mark.dictionary + 1
        record = trained(self._archive, number, stays) if self._mark.dictionary else None
        self._ahead = self._ahead._replace(dictionary=0)
        if record is not None:
            self._put(record)
            leave_spare(self._archive.segments, number, record)
            self._ahead = self._ahead._replace(dictionary=number)

    def _copy(self, row: IndexRow, begin: int, dictionary: int | None) -> None:
        """Copy a record behind `begin`; copy a large record in pieces."""
        segments = self._archive.segments
        if dictionary is not None and header_of(segments.beginning(row.place)).dictionary:
            record = self._surviving(row, begin)
            self._put(repacked(record, dictionary, self._archive.codec))
            return
        if row.record_bytes <= _COPIED_AT_ONCE or row.kind == RecordKind.REVISIT:
            self._put(self._surviving(row, begin))
            return
        header = segments.header(row.place)
        if not segments.is_whole(row.place, header.record_bytes):
            raise Damaged("its checksum is wrong")
        payload = StoredPayload(segments, row.place, header)
        self._records.put_file(
            segments.read_bytes(row.place, HEADER_BYTES), header.at, pieces(payload)
        )
        self._ahead = self._ahead._replace(pages=self._ahead.pages + (row.kind in WITH_BODY))

    def _surviving(self, row: IndexRow, begin: int) -> bytes:
        """Return the record to copy; a revisit gets the body if its original is deleted."""
        record = self._archive.segments.read(row.place)
        if not is_whole(record):
            raise Damaged("its checksum is wrong")
        # Write the records copied so far, so that the index finds the body if one of them has it:
        # a second revisit of a deleted original needs no second body.
        self._records.write()
        header = header_of(record)
        has_body = row.kind != RecordKind.REVISIT
        if has_body or any(True for _ in self._archive.index.with_digest(header.digest, begin)):
            return record
        answer = self._archive.answer(row.place)
        number, codec = self._ahead.dictionary, self._archive.codec
        return seal(with_digest_of(pack_again(answer, codec, number), header), answer.at)

    def remove_spares(self) -> None:
        """Delete the copies of dictionaries that no record needs any more."""
        needed = {spare_path(self._archive.segments.folder, self._mark.dictionary).name}
        for file in self._archive.segments.folder.glob("dictionary-*"):
            if file.name not in needed:
                with disk_errors(file):
                    file.unlink()

    def remove_pruned(self) -> bool:
        """Delete pruned segments unless others read them. Return True if none are left."""
        self._archive.go_on_to(self._mark.end)
        return self._archive.remove_pruned()

    def close(self) -> None:
        """Close the files. The next start cuts off what the store has not committed."""
        self._archive.close()

    # ------------------------------------------------------------ one record

    def _append(self, one: _Answer) -> None:
        answer, header = one
        if header.kind == RecordKind.REVISIT:  # the server confirmed the page
            last = None if self._only_changes else self._last(header.key)
            record = None if last is None else with_digest_of(answer.record, last)
        else:
            record = self._reduced(answer, header)
        if record is None:
            return
        if answer.payload is None or header_of(record).kind == RecordKind.REVISIT:
            self._put(seal(record, answer.at))
        else:
            answer.payload.seek(0)
            self._records.put_file(record, answer.at, pieces(answer.payload))
            self._ahead = self._ahead._replace(pages=self._ahead.pages + 1)

    def _reduced(self, answer: KeptAnswer, header: Header) -> bytes | None:
        """Return the record, or a revisit if its body is archived, or None if it is redundant."""
        if header.kind in ALONE:
            return answer.record
        record, is_archived = self._records.named(answer.record, answer.payload)
        if not is_archived:
            return record
        if answer.payload is not None:
            answer.payload.seek(0)
            record += answer.payload.read(MOST_OF_A_HEAD)
        last = self._last(header.key) if self._only_changes else None
        if last is not None and last.digest == header_of(record).digest:
            return None
        return as_revisit(record, self._archive.codec)

    def _last(self, key: int) -> Header | None:
        """Return the header of the URL's last response that is not a failure, or None."""
        self._records.write()
        for row in reversed(self._archive.index.of_key(key, self._records.end)):
            if row.kind not in ALONE:
                with suppress(Damaged):
                    return self._archive.segments.header(row.place)
                break
        return None

    def _put(self, record: bytes) -> None:
        self._records.put(record)
        pages = self._ahead.pages + (header_of(record).kind in WITH_BODY)
        self._ahead = self._ahead._replace(pages=pages)

    def _train(self) -> None:
        """Try to train a dictionary. Success or not, the next try waits for many more pages."""
        self._records.write()
        number = self._ahead.dictionary + 1
        self._ahead = self._ahead._replace(train_at=TRAINED_AGAIN * self._ahead.pages)
        record = trained(self._archive, number)
        if record is not None:
            self._put(record)
            leave_spare(self._archive.segments, number, record)
            self._ahead = self._ahead._replace(dictionary=number)


def _restored(archive: ArchiveReader) -> _ArchiveState:
    """Return the state of an archive that was just opened, and trim its index to the end."""
    index, end = archive.index, archive.end
    index.cut_off(end)
    pages = sum(one.records for one in index.totals(end) if one.kind in WITH_BODY)
    number = max((name for name, _ in index.dictionaries()), default=0)
    if number:
        with suppress(Damaged):
            record = pack_dictionary(number, archive.dictionary(number))
            leave_spare(archive.segments, number, record)
    return _ArchiveState(end, pages, number, TRAINED_AT * TRAINED_AGAIN**number)


# ================================================================ dictionaries
#
# Dictionaries: zstd is trained on archived pages, so that small pages compress well.
#
# Laws: the first dictionary is trained when there are `TRAINED_AT` pages, on samples from the whole
# archive, and the next whenever the archive has grown by the factor `TRAINED_AGAIN`. Each
# dictionary is also copied to a file beside the segments, for workers.

TRAINED_AT, TRAINED_AGAIN = 400, 8
"""Pages before the first dictionary is trained, and growth factor until the next."""
_SAMPLES, _SAMPLE_BYTES = 150, 8_000
_DICTIONARY_BYTES = 112_640
_TRAINING = {"k": 1024, "d": 6, "f": 16, "accel": 8}
"""Training takes 8 ms. Twice the samples take 12 ms and make records of manuals 0.4 % smaller."""


def trained(
    archive: ArchiveReader, number: int, stays: Callable[[IndexRow], bool] = lambda _row: True
) -> bytes | None:
    """Return the record of a new dictionary, or None if there are too few samples.

    Samples are taken from the records that stay.
    """
    import zstandard

    samples: list[bytes | bytearray | memoryview] = list(_samples(archive, stays))
    with suppress(zstandard.ZstdError):
        found = zstandard.train_dictionary(_DICTIONARY_BYTES, samples, **_TRAINING)
        return pack_dictionary(number, found.as_bytes())
    return None


def _samples(archive: ArchiveReader, stays: Callable[[IndexRow], bool]) -> Iterator[bytes]:
    seen = set()
    for place in archive.segments.spread(_SAMPLES):
        found = archive.index.next_body(place)
        if found is not None and found not in seen:
            seen.add(found)
            if not all(map(stays, archive.index.between(found, found + 1))):
                continue
            with suppress(Damaged):
                yield archive.beginning(found, _SAMPLE_BYTES)


def leave_spare(segments: Segments, number: int, record: bytes) -> None:
    """Copy a dictionary to a file of its own, for workers, which do not read segments."""
    path = spare_path(segments.folder, number)
    draft = path.with_suffix(".draft")
    with disk_errors(path):
        draft.write_bytes(record)
        draft.rename(path)


# ================================================================ joining
#
# Joining: copies the archives of a crawl's shards into one archive, incrementally.
#
# Laws: each record is copied once and in order, damaged stretches included. A body that the joined
# archive already has is not written again. If it has a different body with the same digest, the
# copy gets another number, and revisits are updated to match. Dictionaries are renumbered, and
# stored before the records that need them and at the start of each segment. After a crash, whatever
# follows the last completed copy is truncated. One process copies at a time; others wait for the
# lock.

_STATE, _LOCK = "joined.json", "joining"
_AT_ONCE = 500
_COPIED_AT_ONCE = 1 << 20


class JoinedSource(NamedTuple):
    """Progress of copying one source archive."""

    place: int = FIRST
    """Place behind the last copied record."""
    note: int = 0
    """Value that the caller passed with the last copy."""
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
            lambda: sorted({one for one, _ in self._archive.index.dictionaries()}),
        )
        self._numbers: dict[int, int] = {}
        self._digests: dict[str, str] = {}

    @property
    def end(self) -> int:
        """Place behind the last record."""
        return self._records.end

    def source(self, name: str) -> JoinedSource:
        """Return the progress of copying the archive `name`."""
        return self._sources.get(name, JoinedSource())

    def close(self) -> None:
        """Close the files and release the lock. All added records are kept."""
        self._archive.close()
        os.close(self._lock)

    def add(self, name: str, segments: Segments, end: int, note: int = 0) -> None:
        """Copy the records of an archive up to `end` that were not copied before."""
        source, begin = self.source(name), self.end
        first = max(source.place, segments.begin(end))
        self._numbers, self._digests = dict(source.dictionaries), dict(source.digests)
        with index_errors(self.folder):
            index = self._archive.index
            index.begin(begin)
            try:
                for block in _blocks(scan(segments, first, end)):
                    self._add_block(segments, block)
                self._records.write()
            except BaseException:
                self._records.go_to(begin)
                raise
            if self.end > begin:
                self._archive.segments.sync(begin, self.end)
            index.commit(self.end)
        numbers, digests = tuple(sorted(self._numbers.items())), tuple(self._digests.items())
        self._sources[name] = JoinedSource(max(first, end), note, numbers, digests)
        self._save()

    # ------------------------------------------------------------ records

    def _add_block(self, segments: Segments, block: list[Found]) -> None:
        self._records.expect(one.header for one in block if one.header is not None)
        for one in block:
            if one.header is None:
                self._copy_damage(segments, one)
            elif one.header.kind == RecordKind.DICTIONARY:
                number = one.header.dictionary
                if number not in self._numbers:
                    self._numbers[number] = self._next_number()
                    self._records.put(numbered(segments.read(one.place), self._numbers[number]))
                    self._records.write()
            else:
                self._records.put(self._reduced(self._renumbered(segments, one, one.header)))

    def _renumbered(self, segments: Segments, found: Found, header: Header) -> bytes:
        """Return the record with its dictionary number translated to this archive."""
        record = segments.read(found.place)
        if not header.dictionary:
            return record
        number = self._numbers.get(header.dictionary)
        if number is None:  # the dictionary is lost, so this record cannot be read either
            number = self._numbers[header.dictionary] = self._next_number()
        return numbered(record, number)

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
        here = (number for one in self._sources.values() for _, number in one.dictionaries)
        return 1 + max((*here, *self._numbers.values()), default=0)

    def _copy_damage(self, segments: Segments, found: Found) -> None:
        """Copy bytes that are not a record, so that `verify` reports them."""
        end = found.place + found.length
        for place in range(found.place, end, _COPIED_AT_ONCE):
            count = min(_COPIED_AT_ONCE, end - place)
            self._records.put_bytes(segments.read_bytes(place, count))

    def _save(self) -> None:
        path = self.folder / _STATE
        draft = path.with_suffix(".draft")
        with disk_errors(path):
            # The records are on disk already, so this state never counts records that are missing.
            # A draft is synced and renamed, because a torn state would be read as an empty archive,
            # and everything copied once more.
            draft.write_text(json.dumps([self.end, self._sources]), "ascii")
            sync(draft)
            draft.rename(path)
            sync(self.folder)


def _read(path: Path) -> tuple[int, dict[str, JoinedSource]]:
    """Return the saved end and sources, or an empty state if the file cannot be read."""
    with suppress(OSError, ValueError, TypeError):
        end, sources = json.loads(path.read_text("ascii"))
        known = {
            str(name): JoinedSource(
                place,
                note,
                tuple((there, here) for there, here in numbers),
                tuple((there, here) for there, here in digests),
            )
            for name, (place, note, numbers, digests) in sources.items()
        }
        return int(end), known
    return FIRST, {}


def _blocks(found: Iterable[Found]) -> Iterator[list[Found]]:
    source = iter(found)
    while block := list(islice(source, _AT_ONCE)):
        yield block


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
