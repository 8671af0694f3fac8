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

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.appender import RecordAppender
from minicrawl.archive.index import IndexRow, index_errors
from minicrawl.archive.joining import COPIED_AT_ONCE
from minicrawl.archive.packing import PAYLOAD, spare_path
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import (
    ALONE,
    HEADER_BYTES,
    MOST_OF_A_HEAD,
    WITH_BODY,
    Header,
    RecordKind,
    as_revisit,
    header_of,
    is_whole,
    pack_again,
    pack_dictionary,
    pieces,
    repacked,
    seal,
    unpacked_content,
    with_digest_of,
)
from minicrawl.archive.segments import (
    SEGMENT_BYTES,
    Segments,
    StoredPayload,
    disk_errors,
    place_at,
    segment_of,
)
from minicrawl.errors import Damaged, Unreachable, UsageError
from minicrawl.model import KeptAnswer
from minicrawl.own_files import make_folder


class _ArchiveState(NamedTuple):
    """State of an archive: end, pages with a body, newest dictionary, when to train the next."""

    end: int
    pages: int
    dictionary: int
    train_at: int  # pages


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
            self.reader = ArchiveReader(folder, min(segments.end, end), writes=True)
            self.reader.remove_pruned()
            # `_mark` is what the store has committed, `_ahead` what will hold if it commits the
            # next batch. A commit that fails leaves `_mark` alone, so that the next `append` begins
            # at the old end.
            self._mark = self._ahead = _restored(self.reader)
        self._only_changes = only_changes
        self._records = RecordAppender(
            self.reader, segment_bytes, lambda: filter(None, [self._ahead.dictionary])
        )

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
        with index_errors(self.reader.segments.folder):
            # An earlier attempt at this batch may have left rows and bytes here. The store has not
            # committed them, so they do not exist, and are overwritten.
            self.reader.index.begin(begin)
            self._records.go_to(begin)
            parsed = [(answer, header_of(answer.record)) for answer in answers]
            self._records.expect(header for _, header in parsed)
            for answer, header in parsed:
                self._append(answer, header)
            if self._ahead.pages >= self._ahead.train_at:
                # Success or not, the next try waits for many more pages.
                self._ahead = self._ahead._replace(train_at=TRAINED_AGAIN * self._ahead.pages)
                self._records.write()
                self._train()
            self._records.write()
            end = self._records.end
            if end > begin:
                # The caller commits the steps of these answers next, and a power cut must not leave
                # a step without its answer: so the bytes must be on disk first.
                self.reader.segments.sync(begin, end)
            self.reader.index.commit(end)
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
        archive, end = self.reader, self._mark.end
        index, segments = archive.index, archive.segments
        if not self.remove_pruned():
            raise UsageError(f"{segments.folder} is being read: try again later")
        # A new segment, so that the old segments can later be deleted as whole files.
        begin = place_at(segment_of(end) + 1, 0)
        self._ahead = self._mark._replace(pages=0)
        try:
            with index_errors(segments.folder):
                index.begin(end)
                self._records.go_to(begin)
                if retrains:
                    self._ahead = self._ahead._replace(dictionary=0)
                    if self._mark.dictionary:
                        self._train(stays)
                else:
                    for number in sorted({name for name, _ in index.dictionaries()}):
                        self._put(pack_dictionary(number, archive.dictionary(number)))
                for row in index.rows(end):
                    if row.kind != RecordKind.DICTIONARY and stays(row):
                        with suppress(Damaged):  # a record that is damaged already is not copied
                            self._copy(row, begin, self._ahead.dictionary if retrains else None)
                self._records.write()
                new_end = self._records.end
                if new_end == begin:  # nothing stays, yet the archive ends in a segment
                    segments.write(begin, b"")
                segments.sync(begin, new_end)
                segments.prune(begin, new_end)
                index.commit(new_end)
        except BaseException:  # before the store has heard of it
            segments.cut_off(end)
            raise
        self._ahead = self._ahead._replace(end=new_end)
        return new_end

    def _copy(self, row: IndexRow, begin: int, dictionary: int | None) -> None:
        """Copy a record behind `begin`; copy a large record in pieces."""
        segments = self.reader.segments
        if dictionary is not None and header_of(segments.beginning(row.place)).dictionary:
            record = self._surviving(row, begin)
            self._put(repacked(record, dictionary, self.reader.codec))
            return
        if row.record_bytes <= COPIED_AT_ONCE or row.kind == RecordKind.REVISIT:
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
        record = self.reader.segments.read(row.place)
        if not is_whole(record):
            raise Damaged("its checksum is wrong")
        # Write the records copied so far, so that the index finds the body if one of them has it:
        # a second revisit of a deleted original needs no second body.
        self._records.write()
        header = header_of(record)
        has_body = row.kind != RecordKind.REVISIT
        if has_body or any(True for _ in self.reader.index.with_digest(header.digest, begin)):
            return record
        answer = self.reader.answer(row.place)
        number, codec = self._ahead.dictionary, self.reader.codec
        return seal(with_digest_of(pack_again(answer, codec, number), header), answer.at)

    def remove_spares(self) -> None:
        """Delete the copies of dictionaries that no record needs any more."""
        needed = {spare_path(self.reader.segments.folder, self._mark.dictionary).name}
        for file in self.reader.segments.folder.glob("dictionary-*"):
            if file.name not in needed:
                with disk_errors(file):
                    file.unlink()

    def remove_pruned(self) -> bool:
        """Delete pruned segments unless others read them. Return True if none are left."""
        self.reader.go_on_to(self._mark.end)
        return self.reader.remove_pruned()

    def close(self) -> None:
        """Close the files. The next start cuts off what the store has not committed."""
        self.reader.close()

    def _append(self, answer: KeptAnswer, header: Header) -> None:
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
        return as_revisit(record, self.reader.codec)

    def _last(self, key: int) -> Header | None:
        """Return the header of the URL's last response that is not a failure, or None."""
        self._records.write()
        for row in reversed(self.reader.index.of_key(key, self._records.end)):
            if row.kind not in ALONE:
                with suppress(Damaged):
                    return self.reader.segments.header(row.place)
                break
        return None

    def _put(self, record: bytes) -> None:
        self._records.put(record)
        pages = self._ahead.pages + (header_of(record).kind in WITH_BODY)
        self._ahead = self._ahead._replace(pages=pages)

    def _train(self, stays: Callable[[IndexRow], bool] = lambda _row: True) -> None:
        """Add a dictionary trained on the records that stay, if they are enough."""
        number = self._mark.dictionary + 1
        record = trained(self.reader, number, stays)
        if record is not None:
            self._put(record)
            leave_spare(self.reader.segments, number, record)
            self._ahead = self._ahead._replace(dictionary=number)


def _restored(archive: ArchiveReader) -> _ArchiveState:
    """Return the state of an archive that was just opened, and trim its index to the end."""
    index, end = archive.index, archive.end
    index.cut_off(end)
    pages = sum(records for kind, records, _ in index.totals(end) if kind in WITH_BODY)
    number = max((name for name, _ in index.dictionaries()), default=0)
    if number:
        with suppress(Damaged):
            record = pack_dictionary(number, archive.dictionary(number))
            leave_spare(archive.segments, number, record)
    return _ArchiveState(end, pages, number, TRAINED_AT * TRAINED_AGAIN**number)


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

    Samples are taken from the records that stay, all over the archive, so that small pages compress
    well. The first is trained at `TRAINED_AT` pages, the next when there are `TRAINED_AGAIN` times
    as many.
    """
    import zstandard

    samples: list[bytes | bytearray | memoryview] = list(_samples(archive, stays))
    with suppress(zstandard.ZstdError):
        dictionary = zstandard.train_dictionary(_DICTIONARY_BYTES, samples, **_TRAINING)
        return pack_dictionary(number, dictionary.as_bytes())
    return None


def _samples(archive: ArchiveReader, stays: Callable[[IndexRow], bool]) -> Iterator[bytes]:
    sampled = set()
    for place in archive.segments.spread(_SAMPLES):
        body = archive.index.next_body(place)
        if body is not None and body not in sampled:
            sampled.add(body)
            if not all(map(stays, archive.index.between(body, body + 1))):
                continue
            with suppress(Damaged, Unreachable):
                record = archive.segments.beginning(body)
                header, codec = header_of(record), archive.codec
                yield unpacked_content(record, header, codec, first=_SAMPLE_BYTES)


def leave_spare(segments: Segments, number: int, record: bytes) -> None:
    """Copy a dictionary to a file of its own, for workers, which do not read segments."""
    path = spare_path(segments.folder, number)
    draft = path.with_suffix(".draft")
    with disk_errors(path):
        draft.write_bytes(record)
        draft.rename(path)
