"""Table of near-duplicate pages, a file beside the search index that can be deleted at any time.
The search index writes it; reports read it. A store without an index has none.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Pages = NDArray[np.int64]

NEAR_DUPLICATES_FILE = "near-duplicates"
_HEADER = struct.Struct("<8sIq")
_MAGIC = b"likes 1\n"


class NearDuplicates(NamedTuple):
    """Pages of all groups in ascending order, with the original of each."""

    pages: Pages
    originals: Pages

    def originals_of(self, pages: Pages) -> Pages:
        """Return the original of each page, or -1 for a page without near-duplicates."""
        places = np.searchsorted(self.pages, pages)
        places[places == len(self.pages)] = 0
        if not len(self.pages):
            return np.full(len(pages), -1, np.int64)
        return np.where(self.pages[places] == pages, self.originals[places], -1)

    def others(self) -> Pages:
        """Return how many other pages the group of each page has."""
        _, groups, sizes = np.unique(self.originals, return_inverse=True, return_counts=True)
        return sizes[groups].astype(np.int64) - 1

    def like(self, page: int) -> list[int]:
        """Return the other pages of a page's group."""
        (original,) = self.originals_of(np.array([page]))
        group = self.pages[self.originals == original] if original >= 0 else self.pages[:0]
        return [other for other in group.tolist() if other != page]

    def first_of_groups(self, pages: Pages) -> NDArray[np.bool_]:
        """Return, for each page, True if none before it is in its group."""
        originals = self.originals_of(pages)
        # A page without near-duplicates is a group of its own, with a number that no page has.
        groups = np.where(originals < 0, -1 - np.arange(len(pages)), originals)
        _, places = np.unique(groups, return_index=True)
        firsts = np.zeros(len(pages), np.bool_)
        firsts[places] = True
        return firsts


NO_NEAR_DUPLICATES = NearDuplicates(np.empty(0, np.int64), np.empty(0, np.int64))


def keep_near_duplicates(folder: Path, store: str, duplicates: NearDuplicates) -> None:
    """Write the table beside the index of the store with this identity."""
    draft = folder / f"{NEAR_DUPLICATES_FILE}.draft"
    header = _HEADER.pack(_MAGIC, crc32(store.encode()), len(duplicates.pages))
    draft.write_bytes(header + duplicates.pages.tobytes() + duplicates.originals.tobytes())
    draft.rename(folder / NEAR_DUPLICATES_FILE)


def kept_near_duplicates(folder: Path, store: str | None = None) -> NearDuplicates | None:
    """Return the table beside the index, or None if it is missing, damaged or of another store."""
    try:
        content = (folder / NEAR_DUPLICATES_FILE).read_bytes()
        magic, code, count = _HEADER.unpack_from(content)
        numbers: Sequence[int] | Pages = np.frombuffer(content, np.int64, 2 * count, _HEADER.size)
    except (FileNotFoundError, struct.error, ValueError):
        return None
    # The folder may have been copied beside another store, or the store replaced by a new crawl:
    # page ids then mean other pages.
    if magic != _MAGIC or (store is not None and code != crc32(store.encode())):
        return None
    pages = np.asarray(numbers)
    return NearDuplicates(pages[:count], pages[count:])
