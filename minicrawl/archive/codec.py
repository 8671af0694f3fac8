"""Compressors of records, one for each thread and dictionary."""

from collections.abc import Callable
from functools import lru_cache
from threading import local
from typing import TYPE_CHECKING

from minicrawl.errors import Damaged

if TYPE_CHECKING:
    import zstandard


_FAST = {"window_log": 19, "hash_log": 14, "chain_log": 14, "search_log": 1, "min_match": 7}
"""zstd level 1, tuned for pages: long matches, and a larger hash table that finds more of them.

Level 3 makes records of manuals 10 % smaller and their crawls 10 % slower.
"""


class Codec(local):
    """Compressor and decompressor with numbered dictionaries; number 0 means none.

    Each thread has its own, made on first use. zstandard releases the GIL, and two threads in one
    compressor would write a damaged record or crash the process: the event loop packs redirects
    while the thread that commits packs revisits.
    """

    def __init__(self, dictionary: Callable[[int], bytes]) -> None:
        """`dictionary` returns a dictionary by its number, or raises `Damaged`."""
        self._dictionary = dictionary
        self.compressor = lru_cache(2)(self._compressor)
        self.decompressor = lru_cache(8)(self._decompressor)

    def _compressor(self, number: int) -> "zstandard.ZstdCompressor":
        import zstandard

        fast = zstandard.ZstdCompressionParameters(strategy=zstandard.STRATEGY_FAST, **_FAST)
        dictionary = self._compression_dictionary(number)
        if dictionary is not None:
            dictionary.precompute_compress(compression_params=fast)
        return zstandard.ZstdCompressor(dict_data=dictionary, compression_params=fast)

    def _decompressor(self, number: int) -> "zstandard.ZstdDecompressor":
        import zstandard

        return zstandard.ZstdDecompressor(dict_data=self._compression_dictionary(number))

    def _compression_dictionary(self, number: int) -> "zstandard.ZstdCompressionDict | None":
        import zstandard

        return zstandard.ZstdCompressionDict(self._dictionary(number)) if number else None


def no_dictionary(number: int) -> bytes:
    """Raise Damaged: the dictionaries of codecs for records that use none."""
    raise Damaged(f"dictionary {number} is missing")


PLAIN = Codec(no_dictionary)
"""Codec of records that use no dictionary."""
