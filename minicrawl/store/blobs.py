"""Spendings as bytes, a few for each link.

Law: `unpack(pack(spending)) == spending` if the links are in ascending order.

form    varint(count) varint(extras) deltas [weights idle] [focus]
extras  bit 0: weights and idle follow; bit 1: focus follows
varint  seven bits a byte, the lowest first; the high bit is set if more bytes follow
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from operator import sub

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.journal import Spending

Numbers = NDArray[np.int64]

_WEIGHTS, _FOCUS, _INVALID = 1, 2, 4
_MORE, _SEVEN_BITS = 0x80, 0x7F
_FIRST_MORE = bytes([_MORE])


def pack(spending: Spending) -> bytes:
    """A spending as bytes. Its links must be in ascending order."""
    links, weights, focus, idle = spending
    out = bytearray()
    is_weighted = bool(weights) or idle > 0  # what is sent may be of the pot alone
    _write(out, (len(links), (_WEIGHTS if is_weighted else 0) | (_FOCUS if focus else 0)))
    _write(out, map(sub, links, chain((0,), links)))
    _write(out, (*weights, idle) if is_weighted else ())
    _write(out, focus)
    return bytes(out)


def unpack(blob: bytes) -> Spending:
    """The spending of a blob. Raises ValueError if `pack` cannot have made it."""
    numbers = list(_read(blob))
    count, extras = numbers[:2] if len(numbers) > 1 else (0, _INVALID)
    weighted, focused = bool(extras & _WEIGHTS), bool(extras & _FOCUS)
    ends = [2 + count, 2 + count + (count + 1) * weighted]
    if extras > _WEIGHTS | _FOCUS or len(numbers) != ends[1] + count * focused:
        raise ValueError("a link blob has the wrong length")
    links = list(accumulate(numbers[2 : ends[0]]))
    *weights, idle = numbers[ends[0] : ends[1]] or (0,)
    return Spending(links, weights or (), numbers[ends[1] :] or (), idle)


def is_plain(blob: bytes) -> bool:
    """Whether all links are equal: no weights, no focus."""
    if blob[:1] < _FIRST_MORE:  # most pages have fewer than 128 links
        return blob[1:2] == b"\0"
    extras = next((place for place, byte in enumerate(blob) if byte < _MORE), 0) + 1
    return blob[extras : extras + 1] == b"\0"


def unpack_plain(blobs: Sequence[bytes]) -> tuple[Numbers, Numbers]:
    """The number of links of each plain blob, and the links of all. Needs at least one blob.

    Ten times faster than `unpack` for each. Raises ValueError if a blob is not plain.
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
    if (lengths != counts + 2).any() or numbers[firsts + 1].any():
        raise ValueError("a link blob has the wrong length")
    numbers[firsts] = 0
    links = np.cumsum(numbers)
    links -= np.repeat(links[firsts], lengths)
    is_link = np.ones(len(numbers), dtype=np.bool_)
    is_link[firsts] = is_link[firsts + 1] = False
    return counts, links[is_link]


def pack_plain(counts: Numbers, links: Numbers) -> list[bytes]:
    """The blobs of spendings without weights and focus: how many links each has, at least one, and
    the links of all, in ascending order in each. Ten times faster than `pack` for each.
    """
    if not len(counts):
        return []
    starts = np.cumsum(counts) - counts
    firsts = starts + 2 * np.arange(len(counts))
    is_link = np.ones(len(links) + 2 * len(counts), dtype=np.bool_)
    is_link[firsts] = is_link[firsts + 1] = False
    deltas = np.diff(links, prepend=0)
    deltas[starts] = links[starts]
    numbers = np.zeros(len(is_link), dtype=np.int64)
    numbers[firsts], numbers[is_link] = counts, deltas
    octets, ends = _varints(numbers)
    borders = chain((0,), ends[firsts + counts + 1].tolist())
    return [octets[start:end] for start, end in pairwise(borders)]


def _varints(numbers: Numbers) -> tuple[bytes, Numbers]:
    """The numbers as bytes, and where each of them ends."""
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
