"""Links in a store: their targets, and their attributes such as anchor texts.

spendings  links and amounts of one step, a few bytes per link
written    anchor texts and other link attributes, compressed in blocks of many pages
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from operator import sub
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger.books import Spending
from minicrawl.store.records import WrittenRow, check_of

# ================================================================ spendings
#
# Spendings encoded as bytes, a few per link.
#
# Law: `unpack(pack(spending)) == spending` if the links are in ascending order.
#
# form    varint(count) varint(extras) deltas [weights idle] [focus] [varint(count) deltas]
# extras  bit 0: weights and idle follow; bit 1: focus follows; bit 2: the page links to itself;
#         bit 3: unpaid links follow
# varint  seven bits per byte, least significant first; the high bit means that more bytes follow

Numbers = NDArray[np.int64]

_WEIGHTS, _FOCUS, _SELF_LINK, _UNPAID, _INVALID = 1, 2, 4, 8, 16
_PLAIN = (0, _SELF_LINK)
_MORE, _SEVEN_BITS = 0x80, 0x7F
_FIRST_MORE = bytes([_MORE])


def pack(spending: Spending) -> bytes:
    """Encode a spending. Its links must be in ascending order."""
    links, weights, focus, idle, self_link, unpaid = spending
    out = bytearray()
    is_weighted = bool(weights) or idle > 0  # a batch to a shard may hold only cash of the pot
    extras = _WEIGHTS * is_weighted | _FOCUS * bool(focus)
    _write(out, (len(links), extras | _SELF_LINK * self_link | _UNPAID * bool(unpaid)))
    _write(out, map(sub, links, chain((0,), links)))
    _write(out, (*weights, idle) if is_weighted else ())
    _write(out, focus)
    _write(out, (len(unpaid), *map(sub, unpaid, chain((0,), unpaid))) if unpaid else ())
    return bytes(out)


def unpack(blob: bytes) -> Spending:
    """Decode a spending. Raises ValueError if `pack` cannot have made the blob."""
    numbers = list(_read(blob))
    count, extras = numbers[:2] if len(numbers) > 1 else (0, _INVALID)
    weighted, focused = bool(extras & _WEIGHTS), bool(extras & _FOCUS)
    ends = [2 + count, 2 + count + (count + 1) * weighted]
    ends.append(ends[1] + count * focused)
    more = 1 + sum(numbers[ends[2] : ends[2] + 1]) if extras & _UNPAID else 0
    if extras >= _INVALID or len(numbers) != ends[2] + more or more == 1:
        raise ValueError("a link blob has the wrong length")
    links = list(accumulate(numbers[2 : ends[0]]))
    *weights, idle = numbers[ends[0] : ends[1]] or (0,)
    unpaid = tuple(accumulate(numbers[ends[2] + 1 :]))
    focus = numbers[ends[1] : ends[2]] or ()
    return Spending(links, weights or (), focus, idle, bool(extras & _SELF_LINK), unpaid)


def is_plain(blob: bytes) -> bool:
    """Return True if the blob has only equal links: no weights, focus, or unpaid links."""
    return _extras(blob) in _PLAIN


def has_self_link(blob: bytes) -> bool:
    """Return True if the page links to itself."""
    return bool(_extras(blob) & _SELF_LINK)


def _extras(blob: bytes) -> int:
    """Return the extras of a blob, or `_INVALID` if it has none."""
    if blob[:1] < _FIRST_MORE:  # most pages have fewer than 128 links
        return blob[1] if len(blob) > 1 else _INVALID
    place = next((place for place, byte in enumerate(blob) if byte < _MORE), 0) + 1
    return blob[place] if place < len(blob) else _INVALID


def unpack_plain(blobs: Sequence[bytes]) -> tuple[Numbers, Numbers]:
    """Return the number of links of each plain blob, and the links of all, concatenated.

    Ten times faster than `unpack` for each blob. There must be at least one blob. Raises ValueError
    if a blob is not plain.
    """
    if any(not blob or blob[-1] >= _MORE for blob in blobs):
        raise ValueError("a link blob is truncated")
    octets = np.frombuffer(b"".join(blobs), dtype=np.uint8)
    ends = np.flatnonzero(octets < _MORE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    firsts = np.searchsorted(starts, np.cumsum([0, *map(len, blobs[:-1])]))
    shifts = 7 * (np.arange(len(octets)) - np.repeat(starts, np.diff(ends, prepend=-1)))
    numbers = np.add.reduceat((octets & _SEVEN_BITS).astype(np.int64) << shifts, starts)
    lengths = np.diff(firsts, append=len(numbers))
    counts = numbers[firsts]
    if (lengths != counts + 2).any() or not np.isin(numbers[firsts + 1], _PLAIN).all():
        raise ValueError("a link blob has the wrong length")
    numbers[firsts] = numbers[firsts + 1] = 0
    links = np.cumsum(numbers)
    links -= np.repeat(links[firsts], lengths)
    is_link = np.ones(len(numbers), dtype=np.bool_)
    is_link[firsts] = is_link[firsts + 1] = False
    return counts, links[is_link]


def unpack_written(pages: Numbers, blobs: Sequence[bytes]) -> tuple[Numbers, Numbers]:
    """Like `unpack_plain`, but a page's link to itself is appended to its links."""
    counts, links = unpack_plain(blobs)
    own = np.fromiter(map(has_self_link, blobs), dtype=np.bool_, count=len(blobs))
    return counts + own, np.insert(links, np.cumsum(counts)[own], pages[own])


def pack_plain(counts: Numbers, links: Numbers, self_links: NDArray[np.bool_]) -> list[bytes]:
    """Encode the links of many pages as plain blobs.

    `counts` are the links per page, `links` all links, in ascending order within each page. Ten
    times faster than `pack` for each page.
    """
    if not len(counts):
        return []
    starts = np.cumsum(counts) - counts
    firsts = starts + 2 * np.arange(len(counts))
    is_link = np.ones(len(links) + 2 * len(counts), dtype=np.bool_)
    is_link[firsts] = is_link[firsts + 1] = False
    deltas = np.diff(links, prepend=0)
    has_links = starts[counts > 0]
    deltas[has_links] = links[has_links]
    numbers = np.zeros(len(is_link), dtype=np.int64)
    numbers[firsts], numbers[firsts + 1] = counts, _SELF_LINK * self_links
    numbers[is_link] = deltas
    octets, ends = _varints(numbers)
    borders = chain((0,), ends[firsts + counts + 1].tolist())
    return [octets[start:end] for start, end in pairwise(borders)]


def _varints(numbers: Numbers) -> tuple[bytes, Numbers]:
    """Return the encoded numbers, and the end of each."""
    sizes = np.ones(len(numbers), dtype=np.int64)
    rest = numbers >> 7
    while rest.any():
        sizes += rest > 0
        rest >>= 7
    ends = np.cumsum(sizes)
    out = np.empty(ends[-1], dtype=np.uint8)
    for place in range(int(sizes.max())):
        here = sizes > place
        low = (numbers[here] >> 7 * place) & _SEVEN_BITS
        out[(ends - sizes)[here] + place] = low | np.where(sizes[here] > place + 1, _MORE, 0)
    return out.tobytes(), ends


def _write(out: bytearray, numbers: Iterable[int]) -> None:
    for number in numbers:
        rest = number
        while rest >= _MORE:
            out.append(rest & _SEVEN_BITS | _MORE)
            rest >>= 7
        out.append(rest)


def _read(blob: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in blob:
        number |= (byte & _SEVEN_BITS) << shift
        if byte & _MORE:
            shift += 7
        else:
            yield number
            number = shift = 0
    if shift:
        raise ValueError("a link blob is truncated")


# ================================================================ written
#
# Attributes of links, such as anchor texts, in blocks of many pages.
#
# Laws: the attributes of a page are committed with the step that has its links. Pages are
# compressed together, because their menus are similar. A block is closed when it is large enough;
# the pieces before that are recompressed. If a page was read twice, the last version wins.
#
# block     pages with their link attributes, compressed together
# piece     a block that is not large enough yet

BLOCK_BYTES = 1 << 19
"""Size of a block before compression."""
MOST_PAGES = 4096
"""Maximum pages of a block."""
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
            self._open = self._next = self._stored()
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

    def _stored(self) -> list[_Block]:
        rows = self._connection.execute("SELECT pages, data FROM written WHERE closed = 0")
        return [
            _Block([(page, check) for page, check in _pages(pages).tolist()], _unpacked(data))
            for pages, data in rows
        ]


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
    found = [_pages(pages) for _, pages in blocks]
    counts = [len(pages) for pages in found]
    ids = np.repeat(np.array([number for number, _ in blocks], np.int64), counts)
    places = np.concatenate([np.arange(count) for count in counts] or [np.empty(0, np.int64)])
    pages, checks = np.concatenate([*found, np.empty((0, 2), np.int64)]).T
    last, at = np.unique(pages[::-1], return_index=True)
    chosen = len(pages) - 1 - at
    return ids[chosen], last, checks[chosen], places[chosen]


def wrong_blocks(connection: sqlite3.Connection, known: int) -> Iterator[str]:
    """Yield a line for each block that cannot be read or does not match its list of pages."""
    for number, pages, data in connection.execute("SELECT id, pages, data FROM written"):
        found = _pages(pages)
        try:
            parts = len(_unpacked(data).split(_BETWEEN_PAGES))
        except ValueError as error:
            yield f"block {number}: {error}"
            continue
        if parts != len(found) or (found[:, 0] >= known).any():
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
    """Return the size of all blocks in bytes."""
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
