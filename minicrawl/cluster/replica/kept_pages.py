"""Kept pages of a shard in the engine, stored before the commit that counts them.

A shard that keeps pages has a second log beside that of its store. Its entries are the bytes that
the shard appends to its archive. They stay as long as the crawl exists, or until a segment is full
and in an object store: then an entry names all such segments, and their pieces are removed.

    1-9    MORE   bytes of segment 1
    10-14  MORE   bytes of segment 2
    15     MOVED  segment 1: the stubs of `archive.objects.moved_file`; 1 to 9 are removed
    16     TAKEN  by a node that lays the stubs beside segment 2, and reads ranges of segment 1

Laws: nothing from the engine is trusted: an entry that no shard writes is refused. A piece names
the place where it begins, and replaces what earlier pieces have from there on, but nothing that was
moved. A restored archive has all that the shard's store counts, and perhaps more after that, which
the next writer cuts off. Only segments that the store counts as a whole are moved: whichever node
does, their bytes and so their objects are the same, and a kill leaves none that nobody will name.
The holder removes pieces, after the entry that names their object. Each holder repeats both.

piece   consecutive bytes of one segment; a record may begin and end in different pieces
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock

from minicrawl.archive.objects.moved_file import STUB, stub_of
from minicrawl.archive.segments import FIRST, Segments, offset_of, place_at, segment_of, shown
from minicrawl.cluster.engine import ClusterEngine, EngineError, Fenced
from minicrawl.cluster.engine_thread import EngineThread
from minicrawl.cluster.replica.entries import PIECE_BYTES, Entry, EntryKind
from minicrawl.cluster.replica.shard_log import LogWriter, Overtaken, mark_taken, replay
from minicrawl.errors import Damaged

_STUB_NAME = re.compile(r"segment-[0-9]{6}\.(pages|headers)" + re.escape(STUB))

Begins = dict[int, int]
"""The first entry of each segment, by its number."""
TakenPages = tuple[Path, int, Begins]
"""An archive's folder, the entry with which it was taken over, and the entries of its segments."""


async def take_over_pages(engine: ClusterEngine, shard: int, folder: Path) -> TakenPages:
    """Fence off all earlier senders of the shard's pages, and restore its archive.

    The store must have been taken over before, so that nobody else commits any more.
    """
    taken, begins = await mark_taken(engine.pages, shard), Begins()
    last, _ = await restore_pages(engine, shard, folder, begins=begins)
    if last != taken:
        raise Fenced(f"shard {shard} was taken over by another node at the same time")
    return folder, taken, begins


async def restore_pages(
    engine: ClusterEngine,
    shard: int,
    folder: Path,
    first: int = 1,
    until: int = FIRST,
    begins: Begins | None = None,
) -> tuple[int, int]:
    """Write the log from entry `first` on into segments in the folder, and note where they begin.

    Return the last entry that was read, and the first one that a later call needs, to read on from
    the place `until`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    segments, end, moved, begins_in = Segments(folder), 0, FIRST, first
    begins = Begins() if begins is None else begins

    def add(entry: Entry, number: int) -> None:
        """Write the next piece. The first piece may begin anywhere."""
        nonlocal end, moved, begins_in
        kind, place, content = entry
        if kind is EntryKind.MOVED:
            _lay_stubs(content, folder)
            moved, end = max(moved, place), max(end, place)
        if kind is not EntryKind.MORE:
            return
        begins_next = offset_of(place) == 0 and segment_of(place) == segment_of(end) + 1
        if place < moved or not (not end or place <= end or begins_next):
            raise EngineError(
                f"the log of kept pages is damaged: expected {shown(end)}, found {shown(place)}"
            )
        if place < end:
            segments.cut_off(place)
        segments.write(place, content)
        end = place + len(content)
        _note(begins, place, number)
        begins_in = number if place <= until else begins_in

    while True:
        before = max(first, (await engine.pages.log_span(shard)).first) - 1
        begins_in, end, moved = first, 0, FIRST
        begins.clear()
        with suppress(Overtaken):  # by stubs of segments that were moved meanwhile
            last, _ = await replay(engine.pages, shard, before, add, log="kept pages")
            return last, begins_in


def _note(begins: Begins, place: int, entry: int) -> None:
    """Note the entry of a piece; later segments are cut off."""
    for number in [number for number in begins if number > segment_of(place)]:
        del begins[number]
    begins.setdefault(segment_of(place), entry)


def _stubs(folder: Path) -> bytes:
    """Return the stubs of what was moved. A file that is here has perhaps no object yet."""
    stubs = {stub.with_name(stub.stem): stub for stub in sorted(folder.glob(f"*{STUB}"))}
    moved = {stub.name: stub.read_text() for file, stub in stubs.items() if not file.exists()}
    return json.dumps(moved).encode()


def _lay_stubs(packed: bytes, folder: Path) -> None:
    """Write stubs in place of their files, which earlier entries have."""
    try:
        for name, content in json.loads(packed).items():
            if not _STUB_NAME.fullmatch(name):
                raise EngineError(f"the log of kept pages is damaged: it names {name!a}")
            (folder / name).write_text(content, "ascii")
            stub_of(file := folder / name.removesuffix(STUB))
            file.unlink(missing_ok=True)
    except (ValueError, TypeError, AttributeError, Damaged) as error:
        raise EngineError(f"the log of kept pages is damaged: {error}") from error


def pieces(segments: Segments, begin: int, end: int) -> Iterator[Entry]:
    """Yield the entries with the bytes between two places."""
    for number in range(segment_of(begin), segment_of(end) + 1):
        first = max(begin, place_at(number, 0))
        last = min(end, place_at(number, segments.length(number)))
        for place in range(first, last, PIECE_BYTES):
            content = segments.read_bytes(place, min(PIECE_BYTES, last - place))
            yield Entry(EntryKind.MORE, place, content)


class KeptPagesLog:
    """Writing end of the log of a shard's kept pages.

    After a failure the next call of `keep` continues where the last one broke off. When another
    node has the shard, `keep` raises Fenced, and sends nothing any more.
    """

    def __init__(self, shard: int, taken: TakenPages, thread: EngineThread) -> None:
        folder, entry, self._begins = taken
        self._log = LogWriter(thread.engine.pages, shard, entry)
        self._segments = Segments(folder)
        self._confirmed = 0  # place before which the engine has everything
        self._thread, self._shard = thread, shard
        self._lock, self._is_closed = Lock(), False
        self._named = b""  # stubs that the log has, and whose pieces are gone

    def keep(self, begin: int, end: int) -> None:
        """Send what was appended to the archive between two places, and wait for confirmation."""
        with self._lock:
            begin = self._confirmed = max(self._confirmed, begin)
            for entry in pieces(self._segments, begin, end):
                _note(self._begins, entry.place, self._append(entry))
                self._confirmed = entry.place + len(entry.content)

    def moved(self) -> None:
        """Name the segments that an object store has, and remove their pieces from the engine."""
        with self._lock:
            numbers = self._segments.numbers()
            first = next((number for number in numbers if self._segments.path(number).exists()), 0)
            if self._is_closed or first not in self._begins or first == numbers[0]:
                return
            stubs = _stubs(self._segments.folder)
            if stubs != self._named:
                self._append(Entry(EntryKind.MOVED, place_at(first, 0), stubs))
                self._segments.close()
                pages, before = self._thread.engine.pages, self._begins[first] - 1
                self._thread.run(pages.remove_entries(self._shard, before))
                self._named = stubs

    def _append(self, entry: Entry) -> int:
        return self._thread.run(self._log.append(entry))

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._segments.close()
