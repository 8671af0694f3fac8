"""Appends records to the segments and the index of an archive, in large writes."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from random import SystemRandom
from typing import IO

from minicrawl.archive.index import short
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import (
    EMPTY,
    HEADER_BYTES,
    Header,
    header_of,
    next_digest,
    pack_dictionary,
    sealed_header,
    with_digest_of,
)
from minicrawl.archive.segments import offset_of, place_at, segment_of
from minicrawl.errors import Damaged, Unreachable

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
        try:
            while digest != EMPTY and (place := self._place_of_body(digest)) is not None:
                # Bytes are compared, not only hashes. The digest has 64 bits and a length, so a
                # collision can be made on purpose; unless bodies are compared, the archive would
                # then show one page in place of another.
                # A revisit replays the body of its original: byte for byte, if it is kept as sent.
                has_body, is_sent_alike = self._archive.has_body_of(place, record, payload)
                if has_body:
                    return record, is_sent_alike
                digest = next_digest(digest)
                record = with_digest_of(record, header_of(record)._replace(digest=digest))
        except Unreachable:
            # Written once more, as it cannot be compared, under a number that nobody can guess.
            digest = next_digest(digest, SystemRandom().randrange(1, 1 << 15))
            record = with_digest_of(record, header_of(record)._replace(digest=digest))
        return record, False

    def _place_of_body(self, digest: bytes) -> int | None:
        # Most bodies are neither in the index nor in this batch, and need no query: `expect` looked
        # the whole batch up at once, and bodies of the batch are added here.
        if short(digest) not in self._known:
            self._known.add(short(digest))
            return None
        self.write()
        return self._archive.place_of_body(digest)
