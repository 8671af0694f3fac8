"""Near-duplicates among all pages of an index.

Laws: signatures find candidate pairs, and the texts decide. A pair is judged again only if one of
its pages has changed. The table is written before the notes mark all pages as sorted, so that a
crash in between only costs the work.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from minicrawl.report.near_duplicates import keep_near_duplicates, kept_near_duplicates
from minicrawl.search.index import SearchIndex
from minicrawl.search.near_duplicates import (
    SAMPLE,
    ReadText,
    SignedPages,
    are_alike,
    common_among,
    found_among,
)
from minicrawl.search.notes import TextNotes
from minicrawl.web.signatures import Hashes, shingles

_TEXTS_REMEMBERED = 2_000
_SITES_REMEMBERED = 5_000


def find_near_duplicates(
    folder: Path, store: str, index: SearchIndex, texts: TextNotes, host_of: Callable[[int], int]
) -> None:
    """Bring the table of near-duplicates up to date."""
    if texts.is_sorted and kept_near_duplicates(folder, store) is not None:
        return
    signed = texts.signed()
    judge = _Judge(index, signed, host_of, texts.judged())
    keep_near_duplicates(folder, store, found_among(signed, judge))
    texts.keep_judged(judge.judged)


class _Judge:
    """Judge of pairs of pages, by their texts."""

    def __init__(
        self,
        index: SearchIndex,
        signed: SignedPages,
        host_of: Callable[[int], int],
        known: dict[tuple[int, int], bool],
    ) -> None:
        self._index, self._host_of, self._known = index, host_of, known
        self._by_host: dict[int, list[int]] = defaultdict(list)
        for page in signed.pages.tolist():
            self._by_host[host_of(page)].append(page)
        self.judged: dict[tuple[int, int], bool] = {}
        self._text = lru_cache(_TEXTS_REMEMBERED)(self._read)
        self._common = lru_cache(_SITES_REMEMBERED)(self._common_of)

    def __call__(self, page: int, other: int) -> bool:
        pair = page, other
        is_alike = self._known.get(pair)
        if is_alike is None:
            is_alike = are_alike(self._text(page), self._text(other))
        self.judged[pair] = is_alike
        return is_alike

    def _read(self, page: int) -> ReadText:
        title, hashes = self._shingles(page)
        left = np.setdiff1d(hashes, self._common(self._host_of(page)), assume_unique=True)
        return ReadText(title, hashes, left)

    def _common_of(self, host: int) -> Hashes:
        """Return the shingles that a host repeats, from a sample of pages across it."""
        pages = self._by_host[host]
        chosen = pages[:: -(-len(pages) // SAMPLE)]
        return common_among([self._shingles(page)[1] for page in chosen])

    def _shingles(self, page: int) -> tuple[str, Hashes]:
        entry = self._index.entry(page)
        return ("", shingles("")) if entry is None else (entry.title, shingles(entry.body))
