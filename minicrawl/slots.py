"""A hash map of whole numbers for a hundred million entries: 8 bytes a slot, no object an entry.

Laws: several numbers may be put under one code, and all of them are found. An entry that is dropped
leaves no gap.

The map is made of many small maps. Each grows on its own and by an eighth, so that growing never
stalls a crawl and never needs twice the memory. The entries of a map are in order: a search for a
code that is missing ends at the first larger one, so that the map may be nearly full.

code    64 bits, spread evenly; its first bits choose the small map, the last 32 are kept
number  32 bits, except the largest
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_SHARD_BITS = 8
_SHARD_SHIFT = 64 - _SHARD_BITS
_HALF = 32  # bits
_KEPT = (1 << _HALF) - 1
_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: neighbours end up far apart
_CODE = (1 << 64) - 1

_FULL = 0.92
_ROOMY, _VERY_ROOMY = 0.82, 0.46
_FEW = 1024
"""Up to so many entries a small map doubles: that is done less often, and is still little."""
_LEAST_ROOM = 32
_TAIL = 16
"""Slots behind the last one that a code can be at home in, or that is taken."""
_NO_ENTRIES = bytes(8 * (_LEAST_ROOM + _TAIL))


class Slots:
    """code -> numbers."""

    def __init__(self) -> None:
        self._shards = [_Shard() for _ in range(1 << _SHARD_BITS)]
        self._some_wait = False

    def __len__(self) -> int:
        return sum(len(shard) for shard in self._shards)

    def matches(self, code: int) -> list[int]:
        """The numbers under this code, and seldom one of another code with the same bits kept."""
        (found,) = self.matches_of((code,))
        return found

    def matches_of(self, codes: Iterable[int]) -> list[list[int]]:
        """The same for each of these codes."""
        if self._some_wait:
            self.insert_pending()
        shards = self._shards
        found: list[list[int]] = []
        for code in codes:
            shard, kept = shards[code >> _SHARD_SHIFT], code & _KEPT
            slots, slot = shard.slots, kept * shard.room >> _HALF
            first, numbers = kept << _HALF, []
            while 0 < (entry := slots[slot]) < first:
                slot += 1
            while first < entry <= first | _KEPT:
                numbers.append((entry & _KEPT) - 1)
                slot += 1
                entry = slots[slot]
            found.append(numbers)
        return found

    def put(self, code: int, number: int) -> None:
        """One more number under this code."""
        if self._some_wait:
            self.insert_pending()
        shard, kept = self._shards[code >> _SHARD_SHIFT], code & _KEPT
        slots, entry = shard.slots, kept << _HALF | number + 1
        slot = kept * shard.room >> _HALF
        while 0 < slots[slot] < entry:
            slot += 1
        free = slots.index(0, slot)
        slots[slot + 1 : free + 1] = slots[slot:free]
        slots[slot] = entry
        shard.used += 1
        # The last slot stays free: there every search ends.
        if shard.used > shard.most or free == len(slots) - 2:
            shard.insert_pending()

    def drop(self, code: int, number: int) -> None:
        """Remove the number from under this code, if it is there."""
        if self._some_wait:
            self.insert_pending()
        self._shards[code >> _SHARD_SHIFT].drop(code & _KEPT, number)

    def put_all(self, codes: NDArray[np.uint64], numbers: NDArray[np.uint32]) -> None:
        """Add many, block after block. They wait for `insert_pending` or the first search."""
        shards = (codes >> np.uint64(_SHARD_SHIFT)).astype(np.uint8)
        entries = codes << np.uint64(_HALF) | numbers + np.uint64(1)
        entries = entries[np.argsort(shards, kind="stable")]
        ends = np.cumsum(np.bincount(shards, minlength=1 << _SHARD_BITS)).tolist()
        for shard, start, end in zip(self._shards, [0, *ends], ends, strict=False):
            shard.wait(entries[start:end])
        self._some_wait = True

    def insert_pending(self) -> None:
        """Insert all entries that wait: a second for a hundred million of them."""
        if not self._some_wait:
            return
        for shard in self._shards:
            shard.insert_pending()
        self._some_wait = False


class DenseRows:
    """page -> its row. Rows are numbered from 0 in the order in which pages are added."""

    def __init__(self) -> None:
        self._slots = Slots()
        self._pages = array("I")

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def pages(self) -> NDArray[np.uint32]:
        """The page of each row. It is a view: drop it before rows are added."""
        return np.frombuffer(self._pages, dtype=np.uint32)

    def get(self, page: int) -> int | None:
        """The row of the page, if it has one."""
        # Multiplied by an odd number the last 32 bits stay different: no other page looks like it.
        (found,) = self._slots.matches_of((page * _SPREAD & _CODE,))
        return found[0] if found else None

    def add(self, page: int) -> int:
        """A row for a page that has none."""
        row = len(self._pages)
        self._pages.append(page)
        self._slots.put(page * _SPREAD & _CODE, row)
        return row

    def add_all(self, pages: NDArray[np.uint32]) -> None:
        """Rows for many pages that have none."""
        first = len(self._pages)
        self._pages.frombytes(pages.tobytes())
        rows = np.arange(first, len(self._pages), dtype=np.uint32)
        self._slots.put_all(pages.astype(np.uint64) * np.uint64(_SPREAD), rows)

    def finish_loading(self) -> None:
        """All pages were added: insert them now, and not while a crawl waits."""
        self._slots.insert_pending()


class _Shard:
    """A small map: linear probing, entries in order. Entries in `late` have no slot yet.

    An entry is the code and, in its last 32 bits, the number and one; a slot that is free holds 0.
    Its home is the slot `code * room >> 32`: it is there, or as soon behind as those before it let.
    The search for it stands in each method, as there is one for each link of a page.
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
        # Entries behind it that are not at home move up, or no search would find them any more.
        slots[slot : end - 1] = slots[slot + 1 : end]
        slots[end - 1] = 0
        self.used -= 1

    def wait(self, entries: NDArray[np.uint64]) -> None:
        self.late.frombytes(entries.tobytes())

    def insert_pending(self) -> None:
        """Give every entry a slot in a larger array."""
        if not len(self):
            return
        inside = np.frombuffer(self.slots, dtype=np.uint64)
        late = np.array(self.late, dtype=np.uint64)
        self.late = array("Q")
        self._lay_out(np.sort(np.concatenate((inside[inside > 0], late))))

    def _lay_out(self, entries: NDArray[np.uint64]) -> None:
        """Sorted, each as near to its home as those before it allow."""
        self.used = len(entries)
        roomy = _VERY_ROOMY if self.used < _FEW else _ROOMY
        self.room = max(_LEAST_ROOM, int(self.used / roomy))
        self.most = int(self.room * _FULL)
        codes = (entries >> np.uint64(_HALF)).astype(np.int64)
        places = np.arange(self.used)
        taken = np.maximum.accumulate((codes * self.room >> _HALF) - places) + places
        self.slots = array("Q", bytes(8 * (max(self.room, taken.max(initial=0) + 1) + _TAIL)))
        np.frombuffer(self.slots, dtype=np.uint64)[taken] = entries
