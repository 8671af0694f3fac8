"""Kept pages of a shard in the engine, stored before the commit that counts them.

A shard that keeps pages has a second log beside that of its store. Its entries are the bytes that
the shard appends to its archive; none is removed as long as the crawl exists.

Laws: nothing from the engine is trusted: an entry that no shard writes is refused. A piece names
the place where it begins, and replaces what earlier pieces have from there on. A restored archive
has all that the shard's store counts, and perhaps more after that, which the next writer cuts off.

piece   consecutive bytes of one segment; a record may begin and end in different pieces
"""

import struct
from collections.abc import Callable
from contextlib import aclosing
from enum import IntEnum
from pathlib import Path
from secrets import token_bytes

from minicrawl.archive.segments import FIRST, Segments, offset_of, place_at, segment_of, shown
from minicrawl.cluster.engine import ClusterEngine, EngineError, Fenced, ignore
from minicrawl.cluster.log_writer import (
    EngineThread,
    LogWriter,
    mark_taken,
    pack_frame,
    read_entry,
    unpack_frame,
)

PIECE_BYTES = 3 << 17

_HEAD = struct.Struct(">Q")
"""Place of the piece."""


class PieceKind(IntEnum):
    MORE = 0
    """Bytes of the archive."""
    TAKEN = 1
    """No bytes: another node has taken the shard over."""


def pack_piece(kind: PieceKind, place: int, content: bytes) -> bytes:
    """Encode an entry of the log. Its records are compressed already."""
    return pack_frame(kind, _HEAD.pack(place), content)


async def take_over_pages(
    engine: ClusterEngine, shard: int, folder: Path, emit: Callable[[str], None] = ignore
) -> tuple[Path, int]:
    """Fence off all earlier senders of the shard's pages, and restore its archive.

    Return the archive's folder, and the number of the entry that took the shard over, the last one.
    The store must have been taken over before, so that nobody else commits any more.
    """
    mark = pack_piece(PieceKind.TAKEN, 0, token_bytes(16))
    taken = await mark_taken(engine.pages, shard, mark)
    _, last, _ = await restore_pages(engine, shard, folder, emit=emit)
    if last != taken:
        raise Fenced(f"shard {shard} was taken over by another node at the same time")
    return folder, taken


async def restore_pages(
    engine: ClusterEngine,
    shard: int,
    folder: Path,
    first: int = 1,
    until: int = FIRST,
    emit: Callable[[str], None] = ignore,
) -> tuple[int, int, int]:
    """Write the log from entry `first` on into segments in the folder.

    Return the place after the last byte, the last entry that was read, and the first entry that a
    later call needs, to read on from the place `until`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    segments, end = Segments(folder), 0

    def add(packed: bytes) -> int | None:
        """Write the next piece, and return its place. The first piece may begin anywhere."""
        nonlocal end
        kind, (place,), content = unpack_frame(packed, PieceKind, _HEAD)
        if kind is PieceKind.TAKEN:
            return None
        begins_next = offset_of(place) == 0 and segment_of(place) == segment_of(end) + 1
        if place < FIRST or not (not end or place <= end or begins_next):
            raise EngineError(
                f"the log of kept pages is damaged: expected {shown(end)}, found {shown(place)}"
            )
        if place < end:
            segments.cut_off(place)
        segments.write(place, content)
        end = place + len(content)
        return place

    last, begins_in = first - 1, first
    async with aclosing(engine.pages.entries(shard, first - 1)) as entries:
        async for entry in entries:
            last = entry.number
            place = await read_entry(entry, f"the kept pages of shard {shard}", add, emit)
            if place is not None and place <= until:
                begins_in = last
    return end or FIRST, last, begins_in


class KeptPagesLog:
    """Writing end of the log of a shard's kept pages.

    After a failure the next call of `keep` continues where the last one broke off. When another
    node has the shard, `keep` raises Fenced, and sends nothing any more.
    """

    def __init__(
        self,
        shard: int,
        taken: tuple[Path, int],
        thread: EngineThread,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        folder, entry = taken
        self._log = LogWriter(thread, thread.engine.pages, shard, entry)
        self._segments, self._piece_bytes = Segments(folder), piece_bytes
        self._confirmed = 0  # place before which the engine has everything

    def keep(self, begin: int, end: int) -> None:
        """Send what was appended to the archive between two places, and wait for confirmation."""
        place = self._confirmed = max(self._confirmed, begin)
        while place < end:
            number = segment_of(place)
            is_last = number == segment_of(end)
            length = offset_of(end) if is_last else self._segments.length(number)
            size = min(self._piece_bytes, length - offset_of(place))
            if size <= 0:
                place = place_at(number + 1, 0)
                continue
            content = self._segments.read_bytes(place, size)
            self._log.append(pack_piece(PieceKind.MORE, place, content))
            place = self._confirmed = place + size

    def close(self) -> None:
        self._segments.close()
