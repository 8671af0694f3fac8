"""Spendings encoded as bytes, a few per link.

Law: `unpack(pack(spending)) == spending` if the links are in ascending order.

form    varint(count) varint(extras) deltas [weights idle] [focus] [varint(count) deltas]
extras  bit 0: weights and idle follow; bit 1: focus follows; bit 2: the page links to itself;
        bit 3: unpaid links follow
varint  seven bits per byte, least significant first; the high bit means that more bytes follow
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from operator import sub

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger.books import Spending

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
    sizes = np.ones(len(numbers), dtype=np.int64)
    high_bits = numbers >> 7
    while high_bits.any():
        sizes += high_bits > 0
        high_bits >>= 7
    ends = np.cumsum(sizes)
    out = np.empty(ends[-1], dtype=np.uint8)
    for place in range(int(sizes.max())):
        here = sizes > place
        low = (numbers[here] >> 7 * place) & _SEVEN_BITS
        out[(ends - sizes)[here] + place] = low | np.where(sizes[here] > place + 1, _MORE, 0)
    octets, borders = out.tobytes(), chain((0,), ends[firsts + counts + 1].tolist())
    return [octets[start:end] for start, end in pairwise(borders)]


def _write(out: bytearray, numbers: Iterable[int]) -> None:
    for number in numbers:
        high_bits = number
        while high_bits >= _MORE:
            out.append(high_bits & _SEVEN_BITS | _MORE)
            high_bits >>= 7
        out.append(high_bits)


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
