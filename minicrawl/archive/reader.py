"""Archive reader: finds answers in an archive and verifies it.

Laws: reading an archive does not need its store. A damaged record affects only itself and the
revisits that refer to its body. A reader of a running crawl sees a commit: records at or after
`end` do not exist for it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.index import (
    ArchiveIndex,
    Found,
    IndexRow,
    index_errors,
    open_index,
    scan,
    short,
)
from minicrawl.archive.record import (
    EMPTY,
    WITH_BODY,
    Answer,
    Codec,
    Header,
    RecordKind,
    as_revisit,
    beginning,
    check,
    dictionary_in,
    header_of,
    key_of,
    numbered,
    pack_dictionary,
    read,
    read_head,
    read_packed,
    seal,
    spare_dictionary,
    spare_path,
    with_digest_of,
    with_next_number,
)
from minicrawl.archive.segments import (
    FIRST,
    SEGMENT_BYTES,
    Segments,
    disk_errors,
    held,
    held_alone,
    offset_of,
    place_at,
    segment_of,
    shown,
    sync,
)
from minicrawl.errors import Damaged
from minicrawl.wording import counted

_UNKNOWN = "a page whose URL cannot be read"
_NO_BODY = "it is a revisit, and the record that has its body is gone"


class ArchiveReader:
    """Archive as of a commit. `end` defaults to the end of the segment files."""

    def __init__(self, folder: Path, end: int | None = None, *, writes: bool = False) -> None:
        """Open the archive. Only with `writes` may the index lock out other writers."""
        self.segments = Segments(folder)
        self._hold = held(folder)
        self.end = self.segments.end if end is None else end
        self.index: ArchiveIndex = open_index(self.segments, self.end, writes=writes)
        self.codec = Codec(self.dictionary)
        self.go_on_to(self.end)

    def close(self) -> None:
        """Close index and segment files, and release the shared lock."""
        self.index.close()
        self.segments.close()
        if self._hold is not None:
            os.close(self._hold)

    def go_on_to(self, end: int) -> None:
        """Advance to a newer commit; records that it pruned disappear."""
        self.end = end
        self.begin = self.index.first = self.segments.begin(end)

    def remove_pruned(self) -> bool:
        """Delete pruned segments unless others read them. Return True if none are left."""
        numbers = self.segments.numbers()
        if not numbers or numbers[0] >= segment_of(self.begin):
            return True
        if self._hold is None:
            return False
        with held_alone(self._hold) as is_alone:
            if is_alone:
                self.index.forget_before(self.begin)
                self.segments.close()
                self.segments.remove_before(self.begin)
        return is_alone

    # ------------------------------------------------------------ answers

    def versions(self, url: str) -> list[IndexRow]:
        """Return the records of a URL, oldest first."""
        rows = self.index.of_key(key_of(url), self.end)
        return [row for row in rows if self._is_of(row.place, url)]

    def answer(self, place: int) -> Answer:
        """Return the answer at `place`. A revisit gets the body of its original."""
        with _named(place):
            found = read(self.segments.read(place), self.codec)
            if found.kind is not RecordKind.REVISIT:
                return found
            place_of_body = self.place_of_body(found.digest)
            if place_of_body is None:
                raise Damaged(_NO_BODY)
            original = read(self.segments.read(place_of_body), self.codec)
            # A 304 response has no headers worth keeping: show those of the original.
            headers = found.headers or original.headers
            return found._replace(body=original.body, kind=original.kind, headers=headers)

    def check(self, place: int) -> None:
        """Raise `Damaged` where `answer` would, without holding a body in memory."""
        with _named(place):
            record = self.segments.read(place)
            check(record, self.codec)
            header = header_of(record)
            if header.kind == RecordKind.REVISIT:
                body = self.place_of_body(header.digest)
                if body is None:
                    raise Damaged(_NO_BODY)
                check(self.segments.read(body), self.codec)

    def beginning(self, place: int, count: int) -> bytes:
        """Return the first `count` bytes of head and body of the record at `place`."""
        return beginning(self.segments.read(place), self.codec, count)

    def place_of_body(self, digest: bytes) -> int | None:
        """Return the place of the record that has the body with this digest, or None."""
        for place in self.index.with_digest(digest):
            with suppress(Damaged):
                header = self.segments.header(place)
                if header.digest == digest and header.kind != RecordKind.REVISIT:
                    return place
        return None

    def has_body_of(self, place: int, record: bytes) -> bool:
        """Return True if the record at `place` has the body of `record`, which is not sealed yet.

        Either may be damaged, or have another body with the same digest.
        """
        try:
            original = read(self.segments.read(place), self.codec)
            return original.body == read_packed(record, self.codec).body
        except Damaged:
            return False

    def dictionary(self, number: int) -> bytes:
        """Return a dictionary from the first intact copy."""
        for _, place in self.index.dictionaries(number):
            with suppress(Damaged):
                return dictionary_in(self.segments.read(place))
        return spare_dictionary(self.segments.folder, number)

    def _is_of(self, place: int, url: str) -> bool:
        """Return True if the record is of this URL.

        Keys can collide, though rarely. A damaged record counts as a match, so that reading it
        reports the damage.
        """
        try:
            return read_head(self.segments.read(place), self.codec).url == url
        except Damaged:
            return True


def last_page(rows: Sequence[IndexRow]) -> int:
    """Return the 1-based number of the last version that is not a failure, or 0."""
    numbered = reversed([*enumerate(rows, 1)])
    return next((number for number, row in numbered if row.kind != RecordKind.FAILURE), 0)


def _no_urls(_keys: set[int]) -> Mapping[int, str]:
    return {}


def verify(
    reader: ArchiveReader, urls_of: Callable[[set[int]], Mapping[int, str]] = _no_urls
) -> Iterator[str]:
    """Read all records and yield one line for each problem.

    Problems are reported by URL. `urls_of` maps keys to URLs, for records too damaged to tell their
    own.
    """
    unnamed: list[tuple[str, set[int]]] = []
    for found in scan(reader.segments, reader.begin, reader.end):
        if (wrong := _wrong(reader, found)) is None:
            continue
        urls, keys = _names(reader, found)
        if keys:
            unnamed.append((wrong, keys))
        yield from (f"{wrong}: {url}" for url in urls)
        if not urls and not keys:
            yield f"{wrong}: no page can be named"
    known = urls_of(set[int]().union(*(keys for _, keys in unnamed))) if unnamed else {}
    for wrong, keys in unnamed:
        yield from (f"{wrong}: {known.get(key, _UNKNOWN)}" for key in keys)
    missing = reader.end - reader.segments.end
    if missing > 0:
        yield f"the archive ends at {shown(reader.segments.end)}, not at {shown(reader.end)}"


def _names(reader: ArchiveReader, found: Found) -> tuple[list[str], set[int]]:
    """Return the URLs of the records in `found`, and the keys of those whose URL is unreadable."""
    urls: list[str] = []
    keys: set[int] = set()
    for row in reader.index.between(found.place, found.place + found.length):
        if row.kind == RecordKind.DICTIONARY:
            urls.append("a dictionary")
            continue
        try:
            url = read_head(reader.segments.read(row.place), reader.codec).url
            is_right = key_of(url) == row.key
        except Damaged:
            is_right = False
        if is_right:
            urls.append(url)
        else:
            keys.add(row.key)
    return urls, keys


def _wrong(reader: ArchiveReader, found: Found) -> str | None:
    if found.header is None:
        return f"{shown(found.place)}: {counted(found.length, 'byte is', 'bytes are')} damaged"
    try:
        if found.header.kind == RecordKind.DICTIONARY:
            return None
        reader.check(found.place)
    except Damaged as error:
        return str(error)
    return None


@contextmanager
def _named(place: int) -> Iterator[None]:
    """Prefix `Damaged` errors with the place of the record."""
    try:
        yield
    except Damaged as error:
        raise Damaged(f"{shown(place)}: {error}") from error


# ================================================================ joining
#
# Joining: the archives of the shards of a crawl are copied into one, incrementally.
#
# Laws: each record is copied once and in order, damaged stretches included. A body that the joined
# archive already has is not written again. If it has a different body with the same digest, the
# copy gets another number, and revisits are updated to match. Dictionaries are renumbered, and
# stored before the records that need them and at the start of each segment. After a crash, whatever
# follows the last completed copy is truncated. One process copies at a time; others wait for the
# lock.

_STATE, _LOCK = "joined.json", "joining"
_AT_ONCE = 500
_WRITTEN_AT_ONCE = 1 << 22
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

    def __init__(self, folder: Path) -> None:
        """Open the joined archive. Blocks while another process copies into it."""
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        self.folder = folder
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self.end, self._sources = _read(folder / _STATE)
            Segments(folder).cut_off(self.end)
            with index_errors(folder):
                self._archive = ArchiveReader(folder, self.end, writes=True)
        except BaseException:
            os.close(self._lock)
            raise
        self._unwritten: list[bytes] = []
        self._written = self.end
        self._numbers: dict[int, int] = {}
        self._digests: dict[str, str] = {}

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
                self._write()
            except BaseException:
                self._unwritten.clear()
                self.end = self._written = begin
                raise
            if self.end > begin:
                self._archive.segments.sync(begin, self.end)
            index.commit(self.end)
        numbers, digests = tuple(sorted(self._numbers.items())), tuple(self._digests.items())
        self._sources[name] = JoinedSource(max(first, end), note, numbers, digests)
        self._save()

    # ------------------------------------------------------------ records

    def _add_block(self, segments: Segments, block: list[Found]) -> None:
        self._archive.index.flush()
        digests = [short(one.header.digest) for one in block if one.header is not None]
        known = self._archive.index.known(digests)
        for one in block:
            if one.header is None:
                self._copy_damage(segments, one)
            elif one.header.kind == RecordKind.DICTIONARY:
                self._add_dictionary(segments.read(one.place), one.header.dictionary)
            else:
                self._put(self._reduced(self._renumbered(segments, one, one.header), known))

    def _renumbered(self, segments: Segments, found: Found, header: Header) -> bytes:
        """Return the record with its dictionary number translated to this archive."""
        record = segments.read(found.place)
        if not header.dictionary:
            return record
        number = self._numbers.get(header.dictionary)
        if number is None:  # the dictionary is lost, so this record cannot be read either
            number = self._numbers[header.dictionary] = self._next_number()
        return numbered(record, number)

    def _reduced(self, record: bytes, known: set[int]) -> bytes:
        """Return the record as a revisit if its body is already here."""
        header = header_of(record)
        if header.kind == RecordKind.REVISIT:
            return self._redirected(record, header)
        digest = header.digest
        if header.kind not in WITH_BODY or digest == EMPTY:
            return record
        while (place := self._original(digest, known)) is not None:
            if self._archive.has_body_of(place, record):
                record = as_revisit(record, self._archive.codec)
                break
            record = with_next_number(record)
            digest = header_of(record).digest
        if digest != header.digest:
            self._digests[header.digest.hex()] = digest.hex()
        return seal(record, header.at)

    def _redirected(self, record: bytes, header: Header) -> bytes:
        """Return the revisit with its digest translated to this archive."""
        digest = self._digests.get(header.digest.hex())
        if digest is None:
            return record
        changed = with_digest_of(record, header._replace(digest=bytes.fromhex(digest)))
        return seal(changed, header.at)

    def _original(self, digest: bytes, known: set[int]) -> int | None:
        """Return the place of a body with this digest, or None."""
        if short(digest) not in known:
            known.add(short(digest))
            return None
        self._write()
        return self._archive.place_of_body(digest)

    def _add_dictionary(self, record: bytes, number: int) -> None:
        if number not in self._numbers:
            self._numbers[number] = self._next_number()
            self._put(numbered(record, self._numbers[number]))
            self._write()

    def _next_number(self) -> int:
        here = (number for one in self._sources.values() for _, number in one.dictionaries)
        return 1 + max((*here, *self._numbers.values()), default=0)

    def _copy_damage(self, segments: Segments, found: Found) -> None:
        """Copy bytes that are not a record, so that `verify` reports them."""
        self._write()
        end = found.place + found.length
        for place in range(found.place, end, _COPIED_AT_ONCE):
            self._unwritten.append(segments.read_bytes(place, min(_COPIED_AT_ONCE, end - place)))
            self.end += len(self._unwritten[-1])
            self._write()

    def _put(self, record: bytes) -> None:
        """Append a record; begin a new segment if the current one is full."""
        if offset_of(self.end) >= SEGMENT_BYTES:
            self._begin_segment()
        self._archive.index.add(self.end, header_of(record))
        self._unwritten.append(record)
        self.end += len(record)
        if self.end - self._written > _WRITTEN_AT_ONCE:
            self._write()

    def _begin_segment(self) -> None:
        self._write()
        numbers = sorted({number for number, _ in self._archive.index.dictionaries()})
        self.end = self._written = place_at(segment_of(self.end) + 1, 0)
        for number in numbers:
            with suppress(Damaged):
                self._put(pack_dictionary(number, self._archive.dictionary(number)))

    def _write(self) -> None:
        if self._unwritten:
            self._archive.segments.write(self._written, b"".join(self._unwritten))
            self._unwritten.clear()
            self._written = self.end
        self._archive.index.flush()

    def _save(self) -> None:
        path = self.folder / _STATE
        draft = path.with_suffix(".draft")
        with disk_errors(path):
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


def trained(archive: ArchiveReader, number: int) -> bytes | None:
    """Return the record of a new dictionary, or None if there are too few samples."""
    import zstandard

    samples: list[bytes | bytearray | memoryview] = list(_samples(archive))
    with suppress(zstandard.ZstdError):
        found = zstandard.train_dictionary(_DICTIONARY_BYTES, samples, **_TRAINING)
        return pack_dictionary(number, found.as_bytes())
    return None


def _samples(archive: ArchiveReader) -> Iterator[bytes]:
    seen = set()
    for place in archive.segments.spread(_SAMPLES):
        found = archive.index.next_body(place)
        if found is not None and found not in seen:
            seen.add(found)
            with suppress(Damaged):
                yield archive.beginning(found, _SAMPLE_BYTES)


def leave_spare(segments: Segments, number: int, record: bytes) -> None:
    """Copy a dictionary to a file of its own, for workers, which do not read segments."""
    path = spare_path(segments.folder, number)
    draft = path.with_suffix(".draft")
    with disk_errors(path):
        draft.write_bytes(record)
        draft.rename(path)
