"""Hash map of integers for 100 million entries: 8 bytes per slot, no Python object per entry.

Laws: a code may have several numbers, and all of them are found. A dropped entry leaves no gap.

The map consists of many small maps. Each grows on its own, by an eighth, so that growing never
stalls a crawl and never needs twice the memory. Entries of a small map are sorted: a search for a
missing code ends at the first larger one, so the map may be nearly full.

code    64 bits, with or without a sign, spread evenly; its first bits choose the small map, the
        last 32 are kept
number  32 bits, except the largest
"""

from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_SMALL_MAP_BITS = 8
_SMALL_MAP_SHIFT = 64 - _SMALL_MAP_BITS
_HALF = 32  # bits
_KEPT = (1 << _HALF) - 1

_FULL = 0.92
_ROOMY, _VERY_ROOMY = 0.82, 0.23
_FEW = 1024
"""Below this number of entries a small map grows to four times its size, to grow less often."""
_LEAST_ROOM = 32
_TAIL = 16
"""Slots after the last home slot, for overflow."""
_NO_ENTRIES = bytes(8 * (_LEAST_ROOM + _TAIL))


class CompactHashMap:
    """Map from codes to numbers."""

    def __init__(self) -> None:
        self._maps = [_SmallMap() for _ in range(1 << _SMALL_MAP_BITS)]
        self._some_wait = False

    def __len__(self) -> int:
        return sum(len(small) for small in self._maps)

    def matches(self, codes: Iterable[int]) -> list[list[int]]:
        """Return the numbers under each code, and rarely one of a code with the same kept bits.

        Many codes at once take half the time of a call for each.
        """
        if self._some_wait:
            self.insert_pending()
        maps = self._maps
        matches: list[list[int]] = []
        for code in codes:
            small, low = maps[code >> _SMALL_MAP_SHIFT], code & _KEPT
            slots, slot = small.slots, low * small.room >> _HALF
            first, numbers = low << _HALF, []
            while 0 < (entry := slots[slot]) < first:
                slot += 1
            while first < entry <= first | _KEPT:
                numbers.append((entry & _KEPT) - 1)
                slot += 1
                entry = slots[slot]
            matches.append(numbers)
        return matches

    def put(self, codes: Iterable[int], first: int) -> None:
        """Add consecutive numbers, from `first` on, one under each of these codes."""
        if self._some_wait:
            self.insert_pending()
        maps = self._maps
        for number, code in enumerate(codes, first + 1):
            small, low = maps[code >> _SMALL_MAP_SHIFT], code & _KEPT
            slots, entry = small.slots, low << _HALF | number
            slot = low * small.room >> _HALF
            while 0 < slots[slot] < entry:
                slot += 1
            # Entries up to the next free slot move by one, in one copy. A hash table in the order
            # of arrival would not move them, but could not end a search at the first larger entry.
            free = slots.index(0, slot)
            if free > slot:
                slots[slot + 1 : free + 1] = slots[slot:free]
            slots[slot] = entry
            small.used += 1
            # The last slot stays free: every search ends there.
            if small.used > small.most or free == len(slots) - 2:
                small.insert_pending()

    def drop(self, code: int, number: int) -> None:
        """Remove a number under this code, if present."""
        if self._some_wait:
            self.insert_pending()
        self._maps[code >> _SMALL_MAP_SHIFT].drop(code & _KEPT, number)

    def put_all(self, codes: NDArray[np.uint64], numbers: NDArray[np.uint32]) -> None:
        """Add blocks of entries, pending until `insert_pending` or the first search."""
        maps = (codes >> np.uint64(_SMALL_MAP_SHIFT)).astype(np.uint8)
        entries = codes << np.uint64(_HALF) | numbers + np.uint64(1)
        entries = entries[np.argsort(maps, kind="stable")]
        ends = np.cumsum(np.bincount(maps, minlength=1 << _SMALL_MAP_BITS)).tolist()
        for small, start, end in zip(self._maps, [0, *ends], ends, strict=False):
            small.wait(entries[start:end])
        self._some_wait = True

    def insert_pending(self) -> None:
        """Insert all pending entries; 100 million take a second."""
        if not self._some_wait:
            return
        for small in self._maps:
            small.insert_pending()
        self._some_wait = False


class _SmallMap:
    """A small map: linear probing, entries in order. Entries in `late` have no slot yet.

    An entry is the code with the number plus one in its last 32 bits; a free slot holds 0. Its home
    is the slot `code * room >> 32`: the entry is there, or in the next slot that smaller entries
    leave. The search is repeated in each method instead of called, because it runs for each link.
    """

    __slots__ = ("late", "most", "room", "slots", "used")

    def __init__(self) -> None:
        self.late = array("Q")
        self.used, self.room, self.most = 0, _LEAST_ROOM, int(_LEAST_ROOM * _FULL)
        self.slots = array("Q", _NO_ENTRIES)

    def __len__(self) -> int:
        return self.used + len(self.late)

    def drop(self, code: int, number: int) -> None:
        slots, entry = self.slots, code << _HALF | number + 1
        slot = code * self.room >> _HALF
        while 0 < slots[slot] < entry:
            slot += 1
        if slots[slot] != entry:
            return
        end = slot + 1
        while slots[end] and (slots[end] >> _HALF) * self.room >> _HALF < end:
            end += 1
        # Later entries outside their home slot move up, or searches would miss them.
        slots[slot : end - 1] = slots[slot + 1 : end]
        slots[end - 1] = 0
        self.used -= 1

    def wait(self, entries: NDArray[np.uint64]) -> None:
        # Entries are collected and sorted once: inserted one by one, a hundred million entries
        # would move each other again and again.
        self.late.frombytes(entries.tobytes())

    def insert_pending(self) -> None:
        """Give every entry a slot in a larger array."""
        if not len(self):
            return
        inside = np.frombuffer(self.slots, dtype=np.uint64)
        late = np.array(self.late, dtype=np.uint64)
        self.late = array("Q")
        entries = np.sort(np.concatenate((inside[inside > 0], late)))
        self.used = len(entries)
        # Leaves room to grow by an eighth, from 0.82 to 0.92 full, before the next layout.
        roomy = _VERY_ROOMY if self.used < _FEW else _ROOMY
        self.room = max(_LEAST_ROOM, int(self.used / roomy))
        self.most = int(self.room * _FULL)
        codes = (entries >> np.uint64(_HALF)).astype(np.int64)
        # Each entry is as close to its home slot as earlier ones allow.
        places = np.arange(self.used)
        taken = np.maximum.accumulate((codes * self.room >> _HALF) - places) + places
        # Multiplied: an array made of bytes has room for a sixteenth more.
        self.slots = array("Q", (0,)) * (max(self.room, int(taken.max(initial=0)) + 1) + _TAIL)
        np.frombuffer(self.slots, dtype=np.uint64)[taken] = entries
