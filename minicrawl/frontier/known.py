"""Which page is this URL? A hash map of 64-bit hashes, 12 bytes a slot, no object a page.

It is made of many small maps, each of which grows on its own, so that growing never stalls a crawl.

code    the first 8 bytes of BLAKE2b of the URL, never 0; the same on every machine
"""

from __future__ import annotations

from array import array
from hashlib import blake2b

_SHARD_BITS = 8
_FIRST_SIZE = 64
_FULL = 0.66


def code_of(text: str) -> int:
    """The hash of a URL."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") or 1


class Known:
    """code -> number."""

    def __init__(self) -> None:
        self._shards = [_Shard() for _ in range(1 << _SHARD_BITS)]

    def __len__(self) -> int:
        return sum(shard.size for shard in self._shards)

    def get(self, code: int) -> int | None:
        """The number under this code."""
        return self._shards[code >> 64 - _SHARD_BITS].get(code)

    def put(self, code: int, number: int) -> None:
        """The code must be new."""
        self._shards[code >> 64 - _SHARD_BITS].put(code, number)


class _Shard:
    """Open addressing with linear steps; an empty slot has code 0."""

    __slots__ = ("codes", "mask", "numbers", "size")

    def __init__(self) -> None:
        self.size = 0
        self._make_room(_FIRST_SIZE)

    def get(self, code: int) -> int | None:
        codes, mask = self.codes, self.mask
        slot = code & mask
        while found := codes[slot]:
            if found == code:
                return self.numbers[slot]
            slot = (slot + 1) & mask
        return None

    def put(self, code: int, number: int) -> None:
        self._place(code, number)
        self.size += 1
        if self.size > _FULL * len(self.codes):
            self._grow()

    def _place(self, code: int, number: int) -> None:
        slot = code & self.mask
        while self.codes[slot]:
            slot = (slot + 1) & self.mask
        self.codes[slot] = code
        self.numbers[slot] = number

    def _make_room(self, slots: int) -> None:
        self.codes = array("Q", bytes(8 * slots))
        self.numbers = array("I", bytes(4 * slots))
        self.mask = slots - 1

    def _grow(self) -> None:
        codes, numbers = self.codes, self.numbers
        self._make_room(2 * len(codes))
        for code, number in zip(codes, numbers, strict=True):
            if code:
                self._place(code, number)
