"""The archive of a shard, made of the log of its kept pages; and who takes a shard over.

Law: what was restored begins with all that the store of the shard counts. What may lie behind that
is cut off by whoever opens the archive for writing.
"""

from asyncio import to_thread
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from secrets import token_bytes
from typing import NamedTuple

from minicrawl.archive.segments import FIRST, Segments, offset_of, segment_of, shown
from minicrawl.cluster.engine import ClusterEngine, EngineError, EngineUnavailable, Fenced
from minicrawl.cluster.pages.pieces import ArchivePiece, PieceKind, pack_piece, unpack_piece
from minicrawl.cluster.replica.restoring import WHAT_TO_DO, ignore

_TAKES = 100


class TakenPages(NamedTuple):
    """The archive of a shard that was taken over."""

    folder: Path
    entry: int
    """The last one of its log, which is ours."""


class LaidPages(NamedTuple):
    """What was laid into a folder."""

    end: int
    """The place behind the last byte."""
    entry: int
    """The last one that was read."""
    begins_in: int
    """The entry from which on all is found that lies behind the place that was asked for."""


async def take_over_pages(
    engine: ClusterEngine, shard: int, folder: Path, tell: Callable[[str], None] = ignore
) -> TakenPages:
    """Refuse all who sent pages of the shard so far, and restore its archive.

    Its store must have been taken over before: nobody else commits any more.
    """
    mark = pack_piece(ArchivePiece(PieceKind.TAKEN, 0, token_bytes(16)))
    for _ in range(_TAKES):
        last = (await engine.pages.log_span(shard)).last
        try:
            taken = await engine.pages.append(shard, last, mark)
        except Fenced:
            continue  # the holder has just appended
        if (await lay_pages(engine, shard, folder, tell=tell)).entry != taken:
            raise Fenced(f"shard {shard} was taken over by another node at the same time")
        return TakenPages(folder, taken)
    raise EngineUnavailable(
        f"the pages of shard {shard} cannot be taken over: its holder appends without end"
    )


async def lay_pages(
    engine: ClusterEngine,
    shard: int,
    folder: Path,
    first: int = 1,
    until: int = FIRST,
    tell: Callable[[str], None] = ignore,
) -> LaidPages:
    """Write what the log has from entry `first` on into segments in the folder.

    `until` is the place that the caller knows of.
    """
    laying, number, begins_in = _Laying(folder), first - 1, first
    async with aclosing(engine.pages.entries(shard, first - 1)) as entries:
        async for number, content in entries:
            if not content:
                tell(f"entry {number} of the kept pages of shard {shard} is empty: it was skipped")
                continue
            try:
                piece = unpack_piece(content)
            except EngineError as error:
                text = f"entry {number} of the pages of shard {shard}: {error}. {WHAT_TO_DO}"
                raise EngineError(text) from error
            if piece.kind is PieceKind.TAKEN:
                continue
            await to_thread(laying.add, piece)
            if piece.place <= until:
                begins_in = number
    return LaidPages(laying.end or FIRST, number, begins_in)


class _Laying:
    """One piece after the other is written where it belongs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._segments = Segments(folder)
        self.end = 0

    def add(self, piece: ArchivePiece) -> None:
        """The next piece; the first one may begin anywhere."""
        if not self._is_due(piece.place):
            raise EngineError(
                f"the log of kept pages is damaged: {shown(self.end)} is due, and "
                f"{shown(piece.place)} comes"
            )
        if piece.place < self.end:
            self._segments.cut_off(piece.place)
        self._segments.write(piece.place, piece.content)
        self.end = piece.place + len(piece.content)

    def _is_due(self, place: int) -> bool:
        """Whether it lies behind what there is, instead of its end, or begins the next segment."""
        if place < FIRST:
            return False
        begins_next = offset_of(place) == 0 and segment_of(place) == segment_of(self.end) + 1
        return not self.end or place <= self.end or begins_next
