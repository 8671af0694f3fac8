"""What shards keep of their pages, in the engine: it is there before the commit that counts it.

Each shard that keeps pages has a log for them beside that of its store. It has the bytes that are
appended to the shard's archive, and nothing of it is removed while the crawl is there.

pieces     what an entry of such a log says
shipping   what a shard appends to its archive goes to the engine
restoring  the archive of a shard, made of its log; who takes a shard over
gathering  the archives of all shards become one, beside the gathered store
"""

from __future__ import annotations

import struct
from asyncio import to_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager
from enum import IntEnum
from pathlib import Path
from secrets import token_bytes
from typing import NamedTuple
from zlib import crc32

from minicrawl.archive.reader import JoinedArchive
from minicrawl.archive.segments import FIRST, Segments, offset_of, place_at, segment_of, shown
from minicrawl.cluster.engine import ClusterEngine, EngineError, EngineUnavailable, Fenced
from minicrawl.cluster.replica import WHAT_TO_DO, EngineThread, ignore
from minicrawl.errors import StoreError
from minicrawl.export.drafts import scratch
from minicrawl.progress import Progress, unreported
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder, reading
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter

# ================================================================ pieces
#
# A piece of the archive of a shard, as an entry of the log of its kept pages.
#
# Laws: nothing that came from the engine is trusted: an entry that no shard makes is refused. A
# piece says where it begins; what earlier pieces have from there on does not count any more.
#
# piece   bytes that lie behind each other in one segment; records begin and end anywhere in it

PIECE_BYTES = 3 << 17

_VERSION = 1
_HEAD = struct.Struct(">IBBQ")
"""A checksum of all behind it, version, kind, place."""
_CHECKSUM = struct.Struct(">I")


class PieceKind(IntEnum):
    """What an entry has."""

    MORE = 0
    """Bytes of the archive."""
    TAKEN = 1
    """Nothing: another node has taken the shard over."""


class ArchivePiece(NamedTuple):
    """An entry, as it is in the log."""

    kind: PieceKind
    place: int
    content: bytes


def pack_piece(piece: ArchivePiece) -> bytes:
    """The entry as bytes. Records are compressed already."""
    behind = _HEAD.pack(0, _VERSION, piece.kind, piece.place)[_CHECKSUM.size :] + piece.content
    return _CHECKSUM.pack(crc32(behind)) + behind


def unpack_piece(packed: bytes) -> ArchivePiece:
    """The entry."""
    try:
        checksum, version, kind, place = _HEAD.unpack_from(packed)
        if checksum != crc32(memoryview(packed)[_CHECKSUM.size :]):
            raise ValueError("its checksum is wrong")
        piece = ArchivePiece(PieceKind(kind), place, packed[_HEAD.size :])
    except (struct.error, ValueError) as error:
        raise EngineError(
            f"the log of kept pages has an entry that no minicrawl made: {error}"
        ) from error
    if version != _VERSION:
        raise EngineError(
            f"the log of kept pages has an entry of version {version}, and this minicrawl knows "
            f"{_VERSION}: upgrade it"
        )
    return piece


# ================================================================ restoring
#
# The archive of a shard, made of the log of its kept pages; and who takes a shard over.
#
# Law: what was restored begins with all that the store of the shard counts. What may lie behind
# that is cut off by whoever opens the archive for writing.

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


# ================================================================ gathering
#
# The archives of all shards become one, beside the gathered store.
#
# Laws: what the gathered store counts of each shard is there, and nothing behind it. Of a joined
# archive that is kept, only what is new is fetched.


def archives_of(store: Path) -> dict[int, int]:
    """Where the archives of the shards end that a gathered store knows of, by shard."""
    with reading(store) as connection:
        found = tables.counters(connection).get(tables.ARCHIVES)
    return {int(shard): int(end) for shard, end in found.items()} if isinstance(found, dict) else {}


def has_pages(store: Path) -> bool:
    """Whether a gathered store has its pages, if shards kept any."""
    with reading(store) as connection:
        found = tables.counters(connection)
    return tables.ARCHIVES not in found or tables.ARCHIVE_END in found


async def fetch_archives(
    engine: ClusterEngine, store: Path, joined: Path, tell: Progress = unreported
) -> None:
    """Join what the shards keep in the engine, and let the gathered store know of it."""
    ends = archives_of(store)
    archive = await to_thread(JoinedArchive, joined)
    with closing(archive):
        for count, (shard, end) in enumerate(ends.items(), 1):
            if archive.source(str(shard)).place < end:
                await _fetch(engine, archive, shard, end)
            tell(count / len(ends))
        await to_thread(_tell_store, store, archive.end)


async def _fetch(engine: ClusterEngine, archive: JoinedArchive, shard: int, end: int) -> None:
    source = archive.source(str(shard))
    with scratch("pages", archive.folder.parent) as folder:
        laid = await lay_pages(engine, shard, folder, max(source.note, 1), end)
        if laid.end < end:
            raise StoreError(
                f"the pages of shard {shard} end at {shown(laid.end)} in the servers, and its "
                f"store counts those up to {shown(end)}"
            )
        with closing(Segments(folder)) as segments:
            await to_thread(archive.add, str(shard), segments, end, laid.begins_in)


def join_archives(paths: Sequence[Path], store: Path, tell: Progress = unreported) -> None:
    """Join the archives beside the stores of the shards, for a store that was made of them."""
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
        _tell_store(store, archive.end)


@contextmanager
def drafted(into: Path) -> Iterator[Path]:
    """A place for a store and all that lies beside it, which go to `into` together in the end."""
    from minicrawl.store.files import move

    into.parent.mkdir(parents=True, exist_ok=True)
    with scratch("gathered", into.parent) as folder:
        draft = folder / into.name
        yield draft
        move(draft, into)


def _shard_of(path: Path) -> int:
    with reading(path) as connection:
        terms = tables.terms(connection)
    assert terms is not None
    return terms.shard


def _tell_store(store: Path, end: int) -> None:
    with closing(StoreWriter.open(store)) as out:
        counters = tables.counters(out.connection) | {tables.ARCHIVE_END: end}
        out.commit(Batch(counters=counters))


# ================================================================ shipping
#
# What a shard appends to its archive goes to the engine.
#
# Laws: `keep` returns when the engine has confirmed all that lies before the end that it names;
# after a failure the next call goes on where this one broke off. If another node has the shard, it
# raises Fenced, and nothing is sent any more.


class KeptPagesLog:
    """The end of the log of a shard's kept pages."""

    def __init__(self, shard: int, taken: TakenPages, thread: EngineThread) -> None:
        self._shard, self._thread = shard, thread
        self._segments, self._last = Segments(taken.folder), taken.entry
        self._place = 0  # up to which the engine has all
        self._fenced: Fenced | None = None

    def keep(self, begin: int, end: int) -> None:
        """Send what was appended to the archive between two places."""
        if self._fenced is not None:
            raise self._fenced
        self._place = max(self._place, begin)
        for place, size in _pieces(self._segments, self._place, end):
            content = self._segments.read_bytes(place, size)
            self._append(pack_piece(ArchivePiece(PieceKind.MORE, place, content)))
            self._place = place + size

    def _append(self, entry: bytes) -> None:
        append = self._thread.engine.pages.append(self._shard, self._last, entry)
        try:
            self._last = self._thread.run(append)
        except Fenced as error:
            self._fenced = error
            raise

    def close(self) -> None:
        """Close the files."""
        self._segments.close()


def _pieces(segments: Segments, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Where pieces between two places begin, and their sizes."""
    place = begin
    while place < end:
        number = segment_of(place)
        is_last = number == segment_of(end)
        length = offset_of(end) if is_last else segments.length(number)
        size = min(PIECE_BYTES, length - offset_of(place))
        if size > 0:
            yield place, size
            place += size
        else:
            place = place_at(number + 1, 0)
