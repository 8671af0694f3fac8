"""What a shard appends to its archive goes to the engine.

Laws: `keep` returns when the engine has confirmed all that lies before the end that it names; after
a failure the next call goes on where this one broke off. If another node has the shard, it raises
Fenced, and nothing is sent any more.
"""

from collections.abc import Iterator

from minicrawl.archive.segments import Segments, offset_of, place_at, segment_of
from minicrawl.cluster.engine import Fenced
from minicrawl.cluster.pages.pieces import PIECE_BYTES, ArchivePiece, PieceKind, pack_piece
from minicrawl.cluster.pages.restoring import TakenPages
from minicrawl.cluster.replica.engine_thread import EngineThread


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
