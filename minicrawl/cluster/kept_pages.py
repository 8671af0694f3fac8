"""Kept pages of shards in the engine, stored before the commit that counts them.

A shard that keeps pages has a second log beside that of its store. Its entries are the bytes that
the shard appends to its archive; none is removed as long as the crawl exists.

pieces     format of an entry
restoring  builds the archive of a shard from its log, and takes a shard over
gathering  joins the archives of all shards beside the gathered store
shipping   sends what a shard appends to its archive
"""

from __future__ import annotations

import struct
from asyncio import to_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, closing
from enum import IntEnum
from pathlib import Path
from secrets import token_bytes
from typing import NamedTuple

from minicrawl.archive.segments import FIRST, Segments, offset_of, place_at, segment_of, shown
from minicrawl.archive.writer import JoinedArchive
from minicrawl.cluster.engine import (
    ClusterEngine,
    EngineError,
    EngineThread,
    Fenced,
    LogWriter,
    ignore,
    mark_taken,
    pack_frame,
    read_entry,
    unpack_frame,
)
from minicrawl.errors import StoreError
from minicrawl.own_files import scratch
from minicrawl.ports import Progress, unreported
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter

# ================================================================ pieces
#
# A piece of a shard's archive, as an entry of the log of its kept pages.
#
# Laws: nothing from the engine is trusted: an entry that no shard writes is refused. A piece names
# the place where it begins, and replaces what earlier pieces have from there on.
#
# piece   consecutive bytes of one segment; a record may begin and end in different pieces

PIECE_BYTES = 3 << 17

_HEAD = struct.Struct(">Q")
"""Place of the piece."""


class PieceKind(IntEnum):
    """Kind of an entry."""

    MORE = 0
    """Bytes of the archive."""
    TAKEN = 1
    """No bytes: another node has taken the shard over."""


class ArchivePiece(NamedTuple):
    """An entry of the log."""

    kind: PieceKind
    place: int
    content: bytes


def pack_piece(piece: ArchivePiece) -> bytes:
    """Encode the entry. Its records are compressed already."""
    return pack_frame(piece.kind, _HEAD.pack(piece.place), piece.content)


def unpack_piece(packed: bytes) -> ArchivePiece:
    kind, (place,), content = unpack_frame(packed, _HEAD)
    if kind not in tuple(PieceKind):
        raise EngineError(f"it is of the unknown kind {kind}")
    return ArchivePiece(PieceKind(kind), place, content)


# ================================================================ restoring
#
# Builds the archive of a shard from the log of its kept pages, and takes a shard over.
#
# Law: a restored archive has all that the shard's store counts, and perhaps more after that.
# The next writer of the archive cuts the rest off.


class TakenPages(NamedTuple):
    """The archive of a shard that was taken over."""

    folder: Path
    entry: int
    """Number of the entry that took the shard over, the last one."""


class RestoredPages(NamedTuple):
    """Result of `restore_pages`."""

    end: int
    """Place after the last byte."""
    entry: int
    """The last entry that was read."""
    begins_in: int
    """The first entry that a later call needs, to read on from `until`."""


async def take_over_pages(
    engine: ClusterEngine, shard: int, folder: Path, tell: Callable[[str], None] = ignore
) -> TakenPages:
    """Fence off all earlier senders of the shard's pages, and restore its archive.

    The store must have been taken over before, so that nobody else commits any more.
    """
    mark = pack_piece(ArchivePiece(PieceKind.TAKEN, 0, token_bytes(16)))
    taken = await mark_taken(engine.pages, shard, mark)
    if (await restore_pages(engine, shard, folder, tell=tell)).entry != taken:
        raise Fenced(f"shard {shard} was taken over by another node at the same time")
    return TakenPages(folder, taken)


async def restore_pages(
    engine: ClusterEngine,
    shard: int,
    folder: Path,
    first: int = 1,
    until: int = FIRST,
    tell: Callable[[str], None] = ignore,
) -> RestoredPages:
    """Write the log from entry `first` on into segments in the folder.

    `until` is the place up to which the caller takes pages; `begins_in` depends on it.
    """
    restorer, last, begins_in = _PageRestorer(folder), first - 1, first
    async with aclosing(engine.pages.entries(shard, first - 1)) as entries:
        async for entry in entries:
            last = entry.number
            place = await read_entry(entry, f"the kept pages of shard {shard}", restorer.add, tell)
            if place is not None and place <= until:
                begins_in = last
    return RestoredPages(restorer.end or FIRST, last, begins_in)


class _PageRestorer:
    """Writer of pieces into the segments of an archive."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._segments = Segments(folder)
        self.end = 0

    def add(self, packed: bytes) -> int | None:
        """Write the next piece, and return its place. The first piece may begin anywhere."""
        piece = unpack_piece(packed)
        if piece.kind is PieceKind.TAKEN:
            return None
        if not self._is_due(piece.place):
            raise EngineError(
                f"the log of kept pages is damaged: expected {shown(self.end)}, "
                f"found {shown(piece.place)}"
            )
        if piece.place < self.end:
            self._segments.cut_off(piece.place)
        self._segments.write(piece.place, piece.content)
        self.end = piece.place + len(piece.content)
        return piece.place

    def _is_due(self, place: int) -> bool:
        """Return whether a piece overlaps or follows the end, or begins the next segment."""
        if place < FIRST:
            return False
        begins_next = offset_of(place) == 0 and segment_of(place) == segment_of(self.end) + 1
        return not self.end or place <= self.end or begins_next


# ================================================================ gathering
#
# Joins the archives of all shards, beside the gathered store.
#
# Laws: the joined archive has what the gathered store counts of each shard, and nothing after that.
# If a joined archive is kept, only new pages are fetched.


def archives_of(store: Path) -> dict[int, int]:
    """Return the end of each shard's archive, as the gathered store counts it."""
    with reading(store) as connection:
        found = tables.counters(connection).get(tables.ARCHIVES)
    return {int(shard): int(end) for shard, end in found.items()} if isinstance(found, dict) else {}


def has_pages(store: Path) -> bool:
    """Return whether a gathered store has its pages, or shards kept none."""
    with reading(store) as connection:
        found = tables.counters(connection)
    return tables.ARCHIVES not in found or tables.ARCHIVE_END in found


async def fetch_archives(
    engine: ClusterEngine, store: Path, joined: Path, tell: Progress = unreported
) -> None:
    """Join the archives that the engine has, and note their end in the gathered store."""
    ends = archives_of(store)
    archive = await to_thread(JoinedArchive, joined)
    with closing(archive):
        for count, (shard, end) in enumerate(ends.items(), 1):
            if archive.source(str(shard)).place < end:
                await _fetch(engine, archive, shard, end)
            tell(count / len(ends))
        await to_thread(_note_archive_end, store, archive.end)


async def _fetch(engine: ClusterEngine, archive: JoinedArchive, shard: int, end: int) -> None:
    source = archive.source(str(shard))
    with scratch("pages", archive.folder.parent) as folder:
        restored = await restore_pages(engine, shard, folder, max(source.note, 1), end)
        if restored.end < end:
            raise StoreError(
                f"the servers have the pages of shard {shard} up to {shown(restored.end)}, and its "
                f"store counts those up to {shown(end)}"
            )
        with closing(Segments(folder)) as segments:
            await to_thread(archive.add, str(shard), segments, end, restored.begins_in)


def join_archives(paths: Sequence[Path], store: Path, tell: Progress = unreported) -> None:
    """Join the archives beside the stores of the shards, for a store gathered from these."""
    ends, folders = archives_of(store), {_shard_of(path): archive_folder(path) for path in paths}
    with closing(JoinedArchive(archive_folder(store))) as archive:
        for count, (shard, end) in enumerate(ends.items(), 1):
            with closing(Segments(folders[shard])) as segments:
                if segments.end < end:
                    raise StoreError(
                        f"{folders[shard]} ends at {shown(segments.end)}, and its store counts "
                        f"the pages up to {shown(end)}"
                    )
                archive.add(str(shard), segments, end)
            tell(count / len(ends))
        _note_archive_end(store, archive.end)


def _shard_of(path: Path) -> int:
    with reading(path) as connection:
        terms = tables.terms(connection)
    assert terms is not None
    return terms.shard


def _note_archive_end(store: Path, end: int) -> None:
    with closing(StoreWriter.open(store)) as out:
        counters = tables.counters(out.connection) | {tables.ARCHIVE_END: end}
        out.commit(Batch(counters=counters))


# ================================================================ shipping
#
# Sends what a shard appends to its archive to the engine.
#
# Laws: `keep` returns when the engine has confirmed everything before the given end. After a
# failure the next call continues where the last one broke off. When another node has the shard,
# `keep` raises Fenced, and sends nothing any more.


class KeptPagesLog:
    """Writing end of the log of a shard's kept pages."""

    def __init__(
        self, shard: int, taken: TakenPages, thread: EngineThread, piece_bytes: int = PIECE_BYTES
    ) -> None:
        self._log = LogWriter(thread, thread.engine.pages, shard, taken.entry)
        self._segments, self._piece_bytes = Segments(taken.folder), piece_bytes
        self._confirmed = 0  # place before which the engine has everything

    def keep(self, begin: int, end: int) -> None:
        """Send what was appended to the archive between two places."""
        self._confirmed = max(self._confirmed, begin)
        for place, size in _pieces(self._segments, self._confirmed, end, self._piece_bytes):
            content = self._segments.read_bytes(place, size)
            self._log.append(pack_piece(ArchivePiece(PieceKind.MORE, place, content)))
            self._confirmed = place + size

    def close(self) -> None:
        self._segments.close()


def _pieces(segments: Segments, begin: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield place and size of the pieces between two places."""
    place = begin
    while place < end:
        number = segment_of(place)
        is_last = number == segment_of(end)
        length = offset_of(end) if is_last else segments.length(number)
        size = min(most, length - offset_of(place))
        if size > 0:
            yield place, size
            place += size
        else:
            place = place_at(number + 1, 0)
