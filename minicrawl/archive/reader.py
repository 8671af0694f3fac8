"""The reader: finds answers in an archive, and verifies it.

Laws: an archive is read without its store. A damaged record costs itself, and those revisits whose
body it has. A running crawl is seen as of a commit: what lies behind `end` is not there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from minicrawl.archive.index import ArchiveIndex, IndexRow, open_index
from minicrawl.archive.packing import spare_dictionary
from minicrawl.archive.record import (
    Answer,
    Codec,
    RecordKind,
    beginning,
    check,
    dictionary_in,
    header_of,
    key_of,
    read,
    read_head,
)
from minicrawl.archive.scan import Found, scan
from minicrawl.archive.segments import Segments, held, held_alone, segment_of, shown
from minicrawl.errors import Damaged
from minicrawl.wording import counted

_UNKNOWN = "a page whose URL cannot be read"
_NO_BODY = "it is a revisit, and the record that has its body is gone"


class ArchiveReader:
    """An archive up to an end; without one, up to the end of its files."""

    def __init__(self, folder: Path, end: int | None = None, *, writes: bool = False) -> None:
        """Only who `writes` may keep another one from writing."""
        self.segments = Segments(folder)
        self._hold = held(folder)
        self.end = self.segments.end if end is None else end
        self.index: ArchiveIndex = open_index(self.segments, self.end, writes=writes)
        self.codec = Codec(self.dictionary)
        self.go_on_to(self.end)

    def close(self) -> None:
        """Close the files."""
        self.index.close()
        self.segments.close()
        if self._hold is not None:
            os.close(self._hold)

    def go_on_to(self, end: int) -> None:
        """See what was committed since; what was pruned is gone."""
        self.end = end
        self.begin = self.index.first = self.segments.begin(end)

    def remove_pruned(self) -> bool:
        """Remove what was pruned, unless somebody else reads the archive; whether it is gone."""
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
        """The records of a URL, the oldest first."""
        rows = self.index.of_key(key_of(url), self.end)
        return [row for row in rows if self._is_of(row.place, url)]

    def answer(self, place: int) -> Answer:
        """The answer at a place, whole: the body of a revisit is that of its original."""
        with _named(place):
            found = read(self.segments.read(place), self.codec)
            if found.kind is not RecordKind.REVISIT:
                return found
            place_of_body = self.place_of_body(found.digest)
            if place_of_body is None:
                raise Damaged(_NO_BODY)
            original = read(self.segments.read(place_of_body), self.codec)
            # A server that says that nothing has changed says nothing else.
            headers = found.headers or original.headers
            return found._replace(body=original.body, kind=original.kind, headers=headers)

    def check(self, place: int) -> None:
        """Raise `Damaged` where `answer` would, and hold no body."""
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
        """The first bytes of what the record at a place holds."""
        return beginning(self.segments.read(place), self.codec, count)

    def place_of_body(self, digest: bytes) -> int | None:
        """The place of the record that has the body with this digest."""
        for place in self.index.with_digest(digest):
            with suppress(Damaged):
                header = self.segments.header(place)
                if header.digest == digest and header.kind != RecordKind.REVISIT:
                    return place
        return None

    def dictionary(self, number: int) -> bytes:
        """A dictionary, from the first of its copies that is whole."""
        for _, place in self.index.dictionaries(number):
            with suppress(Damaged):
                return dictionary_in(self.segments.read(place))
        return spare_dictionary(self.segments.folder, number)

    def _is_of(self, place: int, url: str) -> bool:
        """Two URLs rarely share a key. A damaged record counts: reading it says what is wrong."""
        try:
            return read_head(self.segments.read(place), self.codec).url == url
        except Damaged:
            return True


def last_page(rows: Sequence[IndexRow]) -> int:
    """The number of the last of these versions that is no failure; 0 if there is none."""
    numbered = reversed([*enumerate(rows, 1)])
    return next((number for number, row in numbered if row.kind != RecordKind.FAILURE), 0)


def _no_urls(_keys: set[int]) -> Mapping[int, str]:
    return {}


def verify(
    reader: ArchiveReader, urls_of: Callable[[set[int]], Mapping[int, str]] = _no_urls
) -> Iterator[str]:
    """A line for each thing that is wrong; reads all records.

    Damaged records are named by their URLs: `urls_of` finds those of keys, where a record does not
    tell itself.
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
    """The URLs of the records here, and the keys of those whose URLs cannot be read."""
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
    """Say which record is damaged."""
    try:
        yield
    except Damaged as error:
        raise Damaged(f"{shown(place)}: {error}") from error
