"""A hash map of whole numbers for a hundred million entries: 8 bytes a slot, no object an entry.

Laws: several numbers may stand under one code, and all of them are found; nothing is ever taken
out. It is made of many small maps, each of which grows on its own and by a quarter, so that growing
never stalls a crawl and never needs twice the memory.

code    64 bits, spread evenly; its first bits choose the map, the last 32 are kept
number  32 bits, but for the largest, which marks a slot that is free
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

_SHARD_BITS = 8
_SHARD_SHIFT = 64 - _SHARD_BITS
_KEPT_BITS = 32
_KEPT = (1 << _KEPT_BITS) - 1
_FREE = (1 << 32) - 1
_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: neighbours end up far apart
_CODE = (1 << 64) - 1

_FULL = 0.85
_ROOMY = 0.68
_LEAST_ROOM = 32
_TAIL = 16
"""Slots behind the last one that a code can be at home in, or that is taken."""

_NONE = np.empty(0, dtype=np.uint32)


class Slots:
    """code -> numbers."""

    def __init__(self) -> None:
        self._shards = [_Shard() for _ in range(1 << _SHARD_BITS)]
        self._some_wait = False

    def __len__(self) -> int:
        return sum(len(shard) for shard in self._shards)

    def matches(self, code: int) -> list[int]:
        """The numbers under this code, and seldom one of another code that looks like it."""
        if self._some_wait:
            self._let_in()
        return self._shards[code >> _SHARD_SHIFT].matches(code & _KEPT)

    def put(self, code: int, number: int) -> None:
        """One more number under this code."""
        if self._some_wait:
            self._let_in()
        self._shards[code >> _SHARD_SHIFT].put(code & _KEPT, number)

    def put_all(self, codes: NDArray[np.uint64], numbers: NDArray[np.uint32]) -> None:
        """Many at once, block after block: they find their places when the first one is asked."""
        shards = (codes >> np.uint64(_SHARD_SHIFT)).astype(np.uint8)
        order = np.argsort(shards, kind="stable")
        kept, numbers = (codes & np.uint64(_KEPT)).astype(np.uint32)[order], numbers[order]
        ends = np.cumsum(np.bincount(shards, minlength=1 << _SHARD_BITS)).tolist()
        for shard, start, end in zip(self._shards, [0, *ends], ends, strict=False):
            shard.wait(kept[start:end], numbers[start:end])
        self._some_wait = True

    def _let_in(self) -> None:
        for shard in self._shards:
            shard.let_in()
        self._some_wait = False


class Rows:
    """page -> the row that was given to it, dense and in the order of the asking."""

    def __init__(self) -> None:
        self._slots = Slots()
        self._pages = array("I")

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def pages(self) -> NDArray[np.uint32]:
        """The page of each row; a view: let go of it before rows are added."""
        return np.frombuffer(self._pages, dtype=np.uint32)

    def get(self, page: int) -> int | None:
        """The row of the page, if it has one."""
        # Multiplied by an odd number the last 32 bits stay different: no other page looks like it.
        found = self._slots.matches(page * _SPREAD & _CODE)
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


class _Shard:
    """Open addressing with linear steps. `late` are those that have no slot yet."""

    __slots__ = ("codes", "late", "most", "numbers", "room", "used")

    def __init__(self) -> None:
        self.late = array("I"), array("I")
        self._lay_out(*map(_as_numbers, self.late))

    def __len__(self) -> int:
        return self.used + len(self.late[0])

    def matches(self, code: int) -> list[int]:
        codes, numbers = self.codes, self.numbers
        slot = code * self.room >> _KEPT_BITS
        found = []
        while (number := numbers[slot]) != _FREE:
            if codes[slot] == code:
                found.append(number)
            slot += 1
        return found

    def put(self, code: int, number: int) -> None:
        numbers = self.numbers
        slot = code * self.room >> _KEPT_BITS
        while numbers[slot] != _FREE:
            slot += 1
        self.codes[slot] = code
        numbers[slot] = number
        self.used += 1
        # The last slot stays free: there every search ends.
        if self.used > self.most or slot == len(numbers) - 2:
            self.let_in()

    def wait(self, codes: NDArray[np.uint32], numbers: NDArray[np.uint32]) -> None:
        self.late[0].frombytes(codes.tobytes())
        self.late[1].frombytes(numbers.tobytes())

    def let_in(self) -> None:
        """Everybody gets a slot in a larger room."""
        taken = _as_numbers(self.numbers) != _FREE
        inside = _as_numbers(self.codes)[taken], _as_numbers(self.numbers)[taken]
        codes, numbers = map(np.concatenate, zip(inside, map(_as_numbers, self.late), strict=True))
        self.late = array("I"), array("I")
        order = np.argsort(codes, kind="stable")
        self._lay_out(codes[order], numbers[order])

    def _lay_out(self, codes: NDArray[np.uint32], numbers: NDArray[np.uint32]) -> None:
        """In the order of the codes, each as near to its home as those before it allow."""
        self.used = len(codes)
        self.room = max(_LEAST_ROOM, int(self.used / _ROOMY))
        self.most = int(self.room * _FULL)
        homes = codes.astype(np.int64) * self.room >> _KEPT_BITS
        places = np.arange(self.used)
        slots = np.maximum.accumulate(homes - places) + places
        size = max(self.room, slots.max(initial=0) + 1) + _TAIL
        self.codes, self.numbers = array("I", bytes(4 * size)), array("I", [_FREE]) * size
        _as_numbers(self.codes)[slots] = codes
        _as_numbers(self.numbers)[slots] = numbers


def _as_numbers(column: array[int]) -> NDArray[np.uint32]:
    return np.frombuffer(column, dtype=np.uint32) if column else _NONE
