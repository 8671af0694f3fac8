"""Attributes of links, such as anchor texts, in blocks of many pages.

Laws: the attributes of a page are committed with the step that has its links. Pages are
compressed together, because their menus are similar. A block is closed when it is large enough;
the pieces before that are recompressed. If a page was read twice, the last version wins.

block     pages with their link attributes, compressed together
piece     a block that is not large enough yet
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.store.records import WrittenRow, check_of

BLOCK_BYTES = 1 << 19
"""Size of a block before compression."""
MOST_PAGES = 4096
MOST_PIECES = 16
_LEVEL_OF_PIECES, _LEVEL = 1, 6
"""Levels of zstd. Level 9 saves 2 % on the links of manuals, and takes twice the time."""
_BETWEEN_PAGES = b"\x1d"
_NUMBER = np.dtype("<u4")
_BLOCKS_AT_ONCE = 8
"""Number of decompressed blocks that a reader caches."""


class _Block(NamedTuple):
    pages: list[tuple[int, int]]  # page id and checksum of its links
    content: bytes


class Pieces:
    """Pieces at the end of the table `written`, which become a block."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._open: list[_Block] | None = None
        self._next: list[_Block] = []

    def add(self, rows: Sequence[WrittenRow]) -> None:
        """Write the rows in the current transaction; call `confirm` after the commit."""
        if not rows:
            return
        content = _BETWEEN_PAGES.join(row.entries for row in rows)
        blocks = [*self._opened(), _Block([row[:2] for row in rows], content)]
        pages = sum(len(block.pages) for block in blocks)
        is_full = sum(len(block.content) for block in blocks) >= BLOCK_BYTES or pages >= MOST_PAGES
        if is_full or len(blocks) > MOST_PIECES:
            self._join(blocks, closed=is_full, level=_LEVEL if is_full else _LEVEL_OF_PIECES)
        else:
            self._next = blocks
            self._insert(blocks[-1], closed=False, level=_LEVEL_OF_PIECES)

    def merge(self) -> None:
        """Merge all pieces into one, in the current transaction, when the crawl pauses."""
        if self._opened():
            self._join(self._opened(), closed=False, level=_LEVEL)

    def confirm(self) -> None:
        """Adopt the last change, which has been committed."""
        if self._open is not None:
            self._open = self._next

    def _opened(self) -> list[_Block]:
        if self._open is None:
            rows = self._connection.execute("SELECT pages, data FROM written WHERE closed = 0")
            self._open = self._next = [
                _Block([(page, check) for page, check in _pages(pages).tolist()], _unpacked(data))
                for pages, data in rows
            ]
        return self._open

    def _join(self, blocks: list[_Block], *, closed: bool, level: int) -> None:
        pages = [page for block in blocks for page in block.pages]
        joined = _Block(pages, _BETWEEN_PAGES.join(block.content for block in blocks))
        # Deleted in the transaction that inserts the joined block: a crash leaves the pieces or the
        # block, never both.
        self._connection.execute("DELETE FROM written WHERE closed = 0")
        self._insert(joined, closed=closed, level=level)
        self._next = [] if closed else [joined]

    def _insert(self, block: _Block, *, closed: bool, level: int) -> None:
        row = closed, np.array(block.pages, _NUMBER).tobytes(), _packed(block.content, level)
        self._connection.execute("INSERT INTO written VALUES (NULL, ?, ?, ?)", row)


class WrittenLinks:
    """Reader of the link attributes in a store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids, self._pages, self._checks, self._places = _index(connection)
        self._content = lru_cache(_BLOCKS_AT_ONCE)(self._read)

    def __len__(self) -> int:
        return len(self._pages)

    def of(self, page: int, links: Sequence[int]) -> bytes | None:
        """Return the attributes of a page's links, or None if its last version had other links."""
        at = int(np.searchsorted(self._pages, page))
        if at == len(self._pages) or self._pages[at] != page:
            return None
        # The page was read again without keeping attributes. Texts in the order of other links
        # would be shown at the wrong ones, so none are better.
        if self._checks[at] != check_of(links):
            return None
        return self._content(int(self._ids[at]))[int(self._places[at])]

    def _read(self, block: int) -> list[bytes]:
        row = self._connection.execute("SELECT data FROM written WHERE id = ?", (block,)).fetchone()
        return _unpacked(row[0]).split(_BETWEEN_PAGES)


def _index(connection: sqlite3.Connection) -> tuple[NDArray[np.int64], ...]:
    """Return block, page id, checksum and place in the block, by page in ascending order."""
    blocks = list(connection.execute("SELECT id, pages FROM written ORDER BY id"))
    blocks_of_pages = [_pages(pages) for _, pages in blocks]
    counts = [len(pages) for pages in blocks_of_pages]
    ids = np.repeat(np.array([number for number, _ in blocks], np.int64), counts)
    places = np.concatenate([np.arange(count) for count in counts] or [np.empty(0, np.int64)])
    pages, checks = np.concatenate([*blocks_of_pages, np.empty((0, 2), np.int64)]).T
    last, at = np.unique(pages[::-1], return_index=True)
    chosen = len(pages) - 1 - at
    return ids[chosen], last, checks[chosen], places[chosen]


def wrong_blocks(connection: sqlite3.Connection, known: int) -> Iterator[str]:
    """Yield a line for each block that cannot be read or does not match its list of pages."""
    for number, pages, data in connection.execute("SELECT id, pages, data FROM written"):
        rows = _pages(pages)
        try:
            parts = len(_unpacked(data).split(_BETWEEN_PAGES))
        except ValueError as error:
            yield f"block {number}: {error}"
            continue
        if parts != len(rows) or (rows[:, 0] >= known).any():
            yield f"block {number} does not match its list of pages"


def blank_written(connection: sqlite3.Connection, pages: Collection[int]) -> None:
    """Remove the attributes of links of these pages, in the current transaction."""
    for number, blob, data in connection.execute("SELECT id, pages, data FROM written").fetchall():
        named = _pages(blob)[:, 0].tolist()
        if not any(page in pages for page in named):
            continue
        parts = zip(named, _unpacked(data).split(_BETWEEN_PAGES), strict=True)
        left = _BETWEEN_PAGES.join(b"" if page in pages else part for page, part in parts)
        sql = "UPDATE written SET data = ? WHERE id = ?"
        connection.execute(sql, (_packed(left, _LEVEL), number))


def written_bytes(connection: sqlite3.Connection) -> int:
    sql = "SELECT coalesce(sum(length(pages) + length(data)), 0) FROM written"
    return int(connection.execute(sql).fetchone()[0])


def _pages(blob: bytes) -> NDArray[np.int64]:
    return np.frombuffer(blob, _NUMBER).reshape(-1, 2).astype(np.int64)


def _packed(content: bytes, level: int) -> bytes:
    import zstandard  # deferred: most stores have no attributes

    return zstandard.ZstdCompressor(level=level).compress(content)


def _unpacked(data: bytes) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError as error:
        raise ValueError(f"link texts cannot be decompressed: {error}") from error
