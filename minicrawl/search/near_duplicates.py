"""Near-duplicates: pages whose own texts are so alike that one of them is enough.

Laws: a page is put to the first page that it is like, never to one that is only like a third page,
so that no chain leads from a page to one that is different. Nothing is dropped: this is a table of
pages, which lies beside the index and may be deleted.

original    the page of a group that became known first
left        the shingles of a page without those that its site repeats; with few of them, a page is
            like another only if the titles are the same
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.report.near_duplicates import NearDuplicates, Pages
from minicrawl.web.shingles import ALIKE, PLACES, Hashes, Signatures, likeness

MAYBE_ALIKE = 0.58
"""What a signature must promise, less than three standard errors below."""
FEW = 8
SHARE = 0.03
FEWEST = 4
"""A shingle is the site's, and no page's own, on this share of the pages, and on so many."""
SAMPLE = 300
"""Pages of a site that are looked at for that."""
_MOST_JUDGED = 5
_BAND = 4
"""Places that agree in a row make two pages candidates; at J = .7 one of 32 rows does so 99.98
times in 100.
"""
_AT_ONCE_NEAR_DUPLICATES = 50_000


Judge = Callable[[int, int], bool]
"""Whether two pages are alike, by all of their texts."""


class SignedPages(NamedTuple):
    """Pages by their numbers, in order, with what is kept of their texts."""

    pages: Pages
    titles: NDArray[np.int64]
    signatures: Signatures


class ReadText(NamedTuple):
    """The shingles of a page: all, and those that are left without those of its site."""

    title: str
    shingles: Hashes
    left: Hashes


# ---------------------------------------------------------------- to find them


def found_among(signed: SignedPages, is_alike: Judge) -> NearDuplicates:
    """All groups. A page is judged beside at most so many others as `_MOST_JUDGED` says."""
    originals = _originals(signed, is_alike)
    _, places, sizes = np.unique(originals, return_inverse=True, return_counts=True)
    of_groups = sizes[places] > 1
    return NearDuplicates(signed.pages[of_groups], signed.pages[originals[of_groups]])


def _originals(signed: SignedPages, is_alike: Judge) -> Pages:
    """The place of the original of each page, by the places of the pages."""
    kinds, kind_of = _kinds(signed)
    alike = _alike(signed.signatures[kinds])
    originals = np.arange(len(signed.pages))
    for place, kind in enumerate(kind_of.tolist()):
        near = (int(kinds[-one]) for _, one in sorted(alike.get(kind, ()), reverse=True))
        earlier = (one for one in chain((int(kinds[kind]),), near) if one < place)
        firsts = (one for one in earlier if originals[one] == one)
        for first in islice(firsts, _MOST_JUDGED):
            if is_alike(int(signed.pages[first]), int(signed.pages[place])):
                originals[place] = first
                break
    return originals


def _kinds(signed: SignedPages) -> tuple[Pages, Pages]:
    """The first pages of each signature and title, in order, and the kind of each page."""
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
    """For each kind those before it that may be like it, with a minus; not all of many."""
    found: dict[int, set[tuple[float, int]]] = defaultdict(set)
    for begin in range(0, PLACES, _BAND):
        keys = np.ascontiguousarray(signatures[:, begin : begin + _BAND]).view(np.uint32).ravel()
        for ones, others in _pairs(keys):
            alike = likeness(signatures[ones], signatures[others])
            good = alike >= MAYBE_ALIKE
            rows = zip(
                others[good].tolist(), alike[good].tolist(), ones[good].tolist(), strict=True
            )
            for other, share, one in rows:
                found[other].add((share, -one))
    return found


def _pairs(keys: NDArray[np.uint32]) -> Iterator[tuple[Pages, Pages]]:
    """Pairs of rows with the same key, the earlier one first: with the first, with a neighbour."""
    order = np.argsort(keys, kind="stable")
    is_same = keys[order[1:]] == keys[order[:-1]]
    later = np.flatnonzero(is_same) + 1
    begins = np.flatnonzero(~np.concatenate(([False], is_same)))
    first = begins[np.searchsorted(begins, later, side="right") - 1]
    far = first < later - 1
    ones = np.concatenate((order[later - 1], order[first[far]]))
    others = np.concatenate((order[later], order[later[far]]))
    for start in range(0, len(ones), _AT_ONCE_NEAR_DUPLICATES):
        yield (
            ones[start : start + _AT_ONCE_NEAR_DUPLICATES],
            others[start : start + _AT_ONCE_NEAR_DUPLICATES],
        )


def are_alike(one: ReadText, other: ReadText) -> bool:
    """Whether one of two pages is enough. What is left of few shingles says nothing by itself."""
    if min(len(one.left), len(other.left)) >= FEW:
        return jaccard(one.left, other.left) >= ALIKE
    return one.title == other.title and jaccard(one.shingles, other.shingles) >= ALIKE


def jaccard(ones: Hashes, others: Hashes) -> float:
    """The share of shingles that two texts have in common; those without any are not alike."""
    common = len(np.intersect1d(ones, others, assume_unique=True))
    return common / max(len(ones) + len(others) - common, 1)


def common_among(texts: Sequence[Hashes]) -> Hashes:
    """The shingles that a site repeats, by some of its pages."""
    if not texts:
        return np.empty(0, np.uint32)
    found, counts = np.unique(np.concatenate(texts), return_counts=True)
    return found[counts >= max(FEWEST, SHARE * len(texts))]


# ---------------------------------------------------------------- the table beside the index
