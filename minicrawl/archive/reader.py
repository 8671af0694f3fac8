"""Archive reader: finds answers in an archive by an index of its records, and verifies it.

Laws: reading an archive does not need its store. A damaged record affects only itself and the
revisits that refer to its body. A reader of a running crawl sees a commit: records at or after
`end` do not exist for it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import IO

from minicrawl.archive.codec import Codec, no_dictionary
from minicrawl.archive.index import ArchiveIndex, IndexRow, open_index
from minicrawl.archive.packing import spare_dictionary
from minicrawl.archive.record import Answer, Header, RecordKind, dictionary_in, header_of, key_of
from minicrawl.archive.segments import (
    ScanStep,
    Segments,
    StoredPayload,
    held,
    held_alone,
    scan,
    segment_of,
    shown,
)
from minicrawl.archive.unpacking import check, read, read_head, read_packed, unpacked
from minicrawl.errors import Damaged, Unreachable
from minicrawl.wording import counted

_UNKNOWN = "a page whose URL cannot be read"
_CODING = "content-encoding"
_NO_BODY = "it is a revisit, and the record that has its body is gone"
_IDENTITY_BYTES = 64
"""Bytes of the first record that identify an archive."""


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
                try:
                    self.segments.remove_before(self.begin)
                except Unreachable:  # the object store deletes them another time
                    return False
        return is_alone

    def identity(self) -> str:
        """Return a name that changes when the archive is rewritten; "" for an empty archive."""
        for stretch in scan(self.segments, self.begin, self.end):
            if stretch.header is not None:
                length = min(stretch.length, _IDENTITY_BYTES)
                return self.segments.read_bytes(stretch.place, length).hex()
        return ""

    def versions(self, url: str) -> list[IndexRow]:
        """Return the records of a URL, oldest first.

        A damaged record counts as one of this URL, so that reading it reports the damage.
        """
        rows = list[IndexRow]()
        for row in self.index.of_key(key_of(url), self.end):
            with suppress(Damaged):  # keys can collide, though rarely
                if read_head(self.segments.beginning(row.place), self.codec).url != url:
                    continue
            rows.append(row)
        return rows

    def keys_of(self, fits: Callable[[Answer], object]) -> set[int]:
        """Return the keys of URLs with an answer that fits; `fits` gets answers without bodies."""
        return {row.key for row, head in self.heads() if fits(head)}

    def heads(self) -> Iterator[tuple[IndexRow, Answer]]:
        """Yield all answers without their bodies; damaged ones are left out."""
        for row in self.index.rows(self.end):
            if row.kind != RecordKind.DICTIONARY:
                with suppress(Damaged):
                    yield row, read_head(self.segments.beginning(row.place), self.codec)

    def answer(self, place: int) -> Answer:
        """Return the answer at `place`. A revisit gets the body of its original."""
        with _named(place):
            answer = read(self.segments.read(place), self.codec)
            if answer.kind is not RecordKind.REVISIT:
                return answer
            place_of_body = self.place_of_body(answer.digest)
            if place_of_body is None:
                raise Damaged(_NO_BODY)
            original = read(self.segments.read(place_of_body), self.codec)
            # A 304 response has no headers worth keeping: show those of the original.
            headers = answer.headers or original.headers
            is_as_sent = headers.get(_CODING) == original.headers.get(_CODING)
            coded = original.coded if is_as_sent else None
            return answer._replace(
                body=original.body, coded=coded, kind=original.kind, headers=headers
            )

    def shown(self, place: int) -> Answer:
        """Return the answer at `place`; for an unchanged page that was rendered, its last DOM."""
        answer = self.answer(place)
        if answer.status != HTTPStatus.NOT_MODIFIED:
            return answer
        rows = [row for row in self.versions(answer.url) if row.place <= place]
        chosen = rows[last_page(rows) - 1]
        return answer if chosen.place == place else self.answer(chosen.place)

    def check(self, place: int) -> None:
        """Raise `Damaged` where `answer` would, without holding a body in memory."""
        with _named(place):
            header = self._check(place)
            if header.kind == RecordKind.REVISIT:
                body = self.place_of_body(header.digest)
                if body is None:
                    raise Damaged(_NO_BODY)
                self._check(body)

    def _check(self, place: int) -> Header:
        header = self.segments.header(place)
        if not self.segments.is_whole(place, header.record_bytes):
            raise Damaged("its checksum is wrong")
        check(header, StoredPayload(self.segments, place, header), self.codec)
        return header

    def place_of_body(self, digest: bytes) -> int | None:
        for place in self.index.with_digest(digest):
            with suppress(Damaged):
                header = self.segments.header(place)
                if header.digest == digest and header.kind != RecordKind.REVISIT:
                    return place
        return None

    def has_body_of(
        self, place: int, record: bytes, payload: IO[bytes] | None = None
    ) -> tuple[bool, bool]:
        """Return whether the record at `place` has the body of `record`, and as it was sent.

        `record` is not sealed yet; `payload` is its payload, if that is in a file. Both are False
        if either record is damaged, or if different bodies have the same digest.
        """
        try:
            if payload is None:
                original = read(self.segments.read(place), self.codec)
                packed = read_packed(record, self.codec)
                has_body = original.body == packed.body
                return has_body, has_body and original.coded == packed.coded
            header = self._check(place)

            def is_equal(*, coded: bool) -> bool:
                payload.seek(0)
                # A decompressor cannot read two streams at once.
                content = unpacked(header_of(record), payload, Codec(no_dictionary), coded=coded)
                stored = StoredPayload(self.segments, place, header)
                both = zip_longest(content, unpacked(header, stored, self.codec, coded=coded))
                return next(both) is not None and all(piece == other for piece, other in both)

            has_body = is_equal(coded=False)
            return has_body, has_body and is_equal(coded=True)
        except Damaged:
            return False, False

    def dictionary(self, number: int) -> bytes:
        """Return a dictionary from the first intact copy."""
        for _, place in self.index.dictionaries(number):
            with suppress(Damaged, Unreachable):
                return dictionary_in(self.segments.read(place))
        return spare_dictionary(self.segments.folder, number)


def last_page(rows: Sequence[IndexRow]) -> int:
    """Return the 1-based number of the last version that is not a failure, or 0.

    If that version repeats the response that was rendered last, return the number of the DOM.
    """
    pages = [(number, row) for number, row in enumerate(rows, 1) if row.kind != RecordKind.FAILURE]
    if not pages:
        return 0
    last, row = pages[-1]
    if row.kind == RecordKind.REVISIT:
        pairs = pairwise(pages)
        rendered = [(of, dom) for (_, of), (dom, row) in pairs if row.kind == RecordKind.RENDERED]
        if rendered and rendered[-1][0].digest == row.digest:
            return rendered[-1][1]
    return last


def verify(
    reader: ArchiveReader, urls_of: Callable[[set[int]], Mapping[int, str]] = lambda _keys: {}
) -> Iterator[str]:
    """Read all records and yield one line for each problem.

    Problems are reported by URL. `urls_of` maps keys to URLs, for records whose own URL cannot be
    read.
    """
    unnamed: list[tuple[str, set[int]]] = []
    for stretch in scan(reader.segments, reader.begin, reader.end):
        if (wrong := _wrong(reader, stretch)) is None:
            continue
        urls, keys = _names(reader, stretch)
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


def _names(reader: ArchiveReader, stretch: ScanStep) -> tuple[list[str], set[int]]:
    """Return the URLs of the records in `stretch`, and the keys of those with an unreadable URL."""
    urls: list[str] = []
    keys: set[int] = set()
    for row in reader.index.between(stretch.place, stretch.place + stretch.length):
        if row.kind == RecordKind.DICTIONARY:
            urls.append("a dictionary")
            continue
        try:
            url = read_head(reader.segments.beginning(row.place), reader.codec).url
            is_right = key_of(url) == row.key
        except Damaged:
            is_right = False
        if is_right:
            urls.append(url)
        else:
            keys.add(row.key)
    return urls, keys


def _wrong(reader: ArchiveReader, stretch: ScanStep) -> str | None:
    if stretch.header is None:
        return f"{shown(stretch.place)}: {counted(stretch.length, 'byte is', 'bytes are')} damaged"
    try:
        if stretch.header.kind != RecordKind.DICTIONARY:
            reader.check(stretch.place)
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
