"""Archives that become one, which grows as they do: those of the shards of a crawl.

Laws: each record of an archive is copied once, in its order, and damage with it. A body that
another archive has is not written again; a different one with the same digest gets another
number, also where its revisits name it. Dictionaries get numbers of their own, and are there
before the records that need them, and at the beginning of each segment. What a kill leaves behind
the last archive that was copied is cut off; one process at a time copies, and others wait for it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from minicrawl.archive.digest import EMPTY
from minicrawl.archive.index import index_errors, short
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import (
    WITH_BODY,
    Header,
    RecordKind,
    as_revisit,
    header_of,
    numbered,
    pack_dictionary,
    read,
    read_packed,
    seal,
    with_digest_of,
    with_next_number,
)
from minicrawl.archive.scan import Found, scan
from minicrawl.archive.segments import (
    FIRST,
    SEGMENT_BYTES,
    Segments,
    disk_errors,
    offset_of,
    place_at,
    segment_of,
    sync,
)
from minicrawl.errors import Damaged

_STATE, _LOCK = "joined.json", "joining"
_AT_ONCE = 500
_WRITTEN_AT_ONCE = 1 << 22
_COPIED_AT_ONCE = 1 << 20


class JoinedSource(NamedTuple):
    """How much of an archive was copied."""

    place: int = FIRST
    """Behind the last record."""
    note: int = 0
    """What whoever copied it wants to know the next time."""
    dictionaries: tuple[tuple[int, int], ...] = ()
    """Their numbers there and here."""
    digests: tuple[tuple[str, str], ...] = ()
    """Those that other bodies have here: there and here, in hexadecimal digits."""


class JoinedArchive:
    """An archive that is made of others. It is locked until it is closed."""

    def __init__(self, folder: Path) -> None:
        """Waits for others who copy into it."""
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
        """How much of an archive is there."""
        return self._sources.get(name, JoinedSource())

    def close(self) -> None:
        """Let go of the files; all that was added stays."""
        self._archive.close()
        os.close(self._lock)

    def add(self, name: str, segments: Segments, end: int, note: int = 0) -> None:
        """Copy what an archive has up to this end, and was not copied before."""
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
        """The record with the number that its dictionary has here."""
        record = segments.read(found.place)
        if not header.dictionary:
            return record
        number = self._numbers.get(header.dictionary)
        if number is None:  # it was lost, and so is the record
            number = self._numbers[header.dictionary] = self._next_number()
        return numbered(record, number)

    def _reduced(self, record: bytes, known: set[int]) -> bytes:
        """The record, without its body if that is here."""
        header = header_of(record)
        if header.kind == RecordKind.REVISIT:
            return self._redirected(record, header)
        digest = header.digest
        if header.kind not in WITH_BODY or digest == EMPTY:
            return record
        while (place := self._original(digest, known)) is not None:
            if self._has_body_of(place, record):
                record = as_revisit(record, self._archive.codec)
                break
            record = with_next_number(record)
            digest = header_of(record).digest
        if digest != header.digest:
            self._digests[header.digest.hex()] = digest.hex()
        return seal(record, header.at)

    def _redirected(self, record: bytes, header: Header) -> bytes:
        """The revisit with the digest that its body has here."""
        digest = self._digests.get(header.digest.hex())
        if digest is None:
            return record
        changed = with_digest_of(record, header._replace(digest=bytes.fromhex(digest)))
        return seal(changed, header.at)

    def _original(self, digest: bytes, known: set[int]) -> int | None:
        """Where a body with this digest is, if one is here."""
        if short(digest) not in known:
            known.add(short(digest))
            return None
        self._write()
        return self._archive.place_of_body(digest)

    def _has_body_of(self, place: int, record: bytes) -> bool:
        """Whether the record here has the same body; it may have the same digest alone."""
        archive = self._archive
        try:
            original = read(archive.segments.read(place), archive.codec)
            return original.body == read_packed(record, archive.codec).body
        except Damaged:
            return False

    def _add_dictionary(self, record: bytes, number: int) -> None:
        if number not in self._numbers:
            self._numbers[number] = self._next_number()
            self._put(numbered(record, self._numbers[number]))
            self._write()

    def _next_number(self) -> int:
        here = (number for one in self._sources.values() for _, number in one.dictionaries)
        return 1 + max((*here, *self._numbers.values()), default=0)

    def _copy_damage(self, segments: Segments, found: Found) -> None:
        """Bytes that are no records, for whoever verifies."""
        self._write()
        end = found.place + found.length
        for place in range(found.place, end, _COPIED_AT_ONCE):
            self._unwritten.append(segments.read_bytes(place, min(_COPIED_AT_ONCE, end - place)))
            self.end += len(self._unwritten[-1])
            self._write()

    def _put(self, record: bytes) -> None:
        """Behind the last one, in a new segment if this one is long enough."""
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
    """What is there; nothing if it cannot be known."""
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
