"""Near-duplicates: pages whose own texts are so similar that one of them is enough.

Laws: a page is grouped with the first page that it resembles, never with one that only resembles a
third page, so that no chain connects different pages. Nothing is dropped: the result is a table of
pages beside the index, which can be deleted. Signatures find candidate pairs, and the texts decide;
a pair is judged again only if one of its pages has changed. The table is written before the notes
mark all pages as sorted, so that a crash in between only costs the work.

original    the page of a group that became known first
left        the shingles of a page without those that its host repeats; if few are left, two pages
            are similar only if their titles are equal
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.report.near_duplicates import (
    NearDuplicates,
    keep_near_duplicates,
    kept_near_duplicates,
)
from minicrawl.search.index import SearchIndex
from minicrawl.web.signatures import ALIKE, PLACES, Hashes, Signatures, likeness, shingles

if TYPE_CHECKING:
    from minicrawl.search.notes import TextNotes

Pages = NDArray[np.int64]

MAYBE_ALIKE = 0.58
"""Minimum similarity of signatures: the threshold less three standard errors."""
FEW = 8
"""Number of shingles left below which they are not conclusive."""
SHARE = 0.03
FEWEST = 4
"""A shingle is repeated by its host if `SHARE` of the pages have it, and at least `FEWEST`."""
SAMPLE = 300
"""Pages sampled per host."""
_MOST_JUDGED = 5
_BAND = 4
"""Consecutive places that must agree to make two pages candidates.

At J = 0.7, one of the 32 rows agrees with probability 99.98 %.
"""
_AT_ONCE = 50_000
_TEXTS_REMEMBERED, _SITES_REMEMBERED = 2_000, 5_000


Judge = Callable[[int, int], bool]
"""Function that returns True if two pages are near-duplicates, comparing their full texts."""


class SignedPages(NamedTuple):
    """Pages in ascending order, with title hashes and text signatures."""

    pages: Pages
    titles: NDArray[np.int64]
    signatures: Signatures


class ReadText(NamedTuple):
    """Shingles of a page: all, and those left without the repeated ones of its host."""

    title: str
    shingles: Hashes
    left: Hashes


def find_near_duplicates(
    folder: Path, store: str, index: SearchIndex, texts: "TextNotes", host_of: Callable[[int], int]
) -> None:
    """Bring the table of near-duplicates up to date."""
    if texts.is_sorted and kept_near_duplicates(folder, store) is not None:
        return
    signed = texts.signed()
    judge = _TextJudge(index, signed, host_of, texts.judged())
    keep_near_duplicates(folder, store, found_among(signed, judge))
    texts.keep_judged(judge.judged)


class _TextJudge:
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


def found_among(signed: SignedPages, is_alike: Judge) -> NearDuplicates:
    """Return all groups. A page is compared with at most `_MOST_JUDGED` others."""
    originals = _originals(signed, is_alike)
    _, places, sizes = np.unique(originals, return_inverse=True, return_counts=True)
    of_groups = sizes[places] > 1
    return NearDuplicates(signed.pages[of_groups], signed.pages[originals[of_groups]])


def _originals(signed: SignedPages, is_alike: Judge) -> Pages:
    kinds, kind_of = _kinds(signed)
    alike = _alike(signed.signatures[kinds])
    originals = np.arange(len(signed.pages))
    for place, kind in enumerate(kind_of.tolist()):
        near = (int(kinds[-original]) for _, original in sorted(alike.get(kind, ()), reverse=True))
        # A page joins an original only, and directly: with links through a third page, a chain of
        # small changes would join pages that have little in common.
        earlier = (original for original in chain((int(kinds[kind]),), near) if original < place)
        firsts = (original for original in earlier if originals[original] == original)
        for first in islice(firsts, _MOST_JUDGED):
            if is_alike(int(signed.pages[first]), int(signed.pages[place])):
                originals[place] = first
                break
    return originals


def _kinds(signed: SignedPages) -> tuple[Pages, Pages]:
    """Return the first page of each distinct signature and title, and the kind of each page."""
    if not len(signed.pages):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.column_stack((signed.signatures.view(np.int64), signed.titles))
    raw = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    _, firsts, kind_of = np.unique(raw, return_index=True, return_inverse=True)
    order = np.argsort(firsts, kind="stable")
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    return firsts[order], numbers[kind_of]


def _alike(signatures: Signatures) -> dict[int, set[tuple[float, int]]]:
    """Return, for each kind, similar earlier kinds (negated), with their similarity.

    Of many candidates, only some are included.
    """
    likes: dict[int, set[tuple[float, int]]] = defaultdict(set)
    for begin in range(0, PLACES, _BAND):
        keys = np.ascontiguousarray(signatures[:, begin : begin + _BAND]).view(np.uint32).ravel()
        for firsts, seconds in _pairs(keys):
            alike = likeness(signatures[firsts], signatures[seconds])
            good = alike >= MAYBE_ALIKE
            rows = zip(
                seconds[good].tolist(), alike[good].tolist(), firsts[good].tolist(), strict=True
            )
            for other, share, first in rows:
                likes[other].add((share, -first))
    return likes


def _pairs(keys: NDArray[np.uint32]) -> Iterator[tuple[Pages, Pages]]:
    """Yield pairs of rows with equal keys: each with the first such row and the previous."""
    order = np.argsort(keys, kind="stable")
    is_same = keys[order[1:]] == keys[order[:-1]]
    later = np.flatnonzero(is_same) + 1
    begins = np.flatnonzero(~np.concatenate(([False], is_same)))
    first = begins[np.searchsorted(begins, later, side="right") - 1]
    # The first row of a group is the likely original, and the previous one is near it in time. All
    # pairs of a large group would be millions.
    far = first < later - 1
    firsts = np.concatenate((order[later - 1], order[first[far]]))
    seconds = np.concatenate((order[later], order[later[far]]))
    for start in range(0, len(firsts), _AT_ONCE):
        yield firsts[start : start + _AT_ONCE], seconds[start : start + _AT_ONCE]


def are_alike(text: ReadText, other: ReadText) -> bool:
    if min(len(text.left), len(other.left)) >= FEW:
        return jaccard(text.left, other.left) >= ALIKE
    return text.title == other.title and jaccard(text.shingles, other.shingles) >= ALIKE


def jaccard(left: Hashes, right: Hashes) -> float:
    """Return the share of shingles in common; 0 if there are none."""
    common = len(np.intersect1d(left, right, assume_unique=True))
    return common / max(len(left) + len(right) - common, 1)


def common_among(texts: Sequence[Hashes]) -> Hashes:
    """Return the shingles that a host repeats, given some of its pages."""
    if not texts:
        return np.empty(0, np.uint32)
    hashes, counts = np.unique(np.concatenate(texts), return_counts=True)
    return hashes[counts >= max(FEWEST, SHARE * len(texts))]
