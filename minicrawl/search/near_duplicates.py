"""Near-duplicates: pages whose own texts are so alike that one of them is enough.

Laws: a page is put to the first page that it is like, never to one that is only like a third page,
so that no chain leads from a page to one that is different. Nothing is dropped: this is a table of
pages, which lies beside the index and may be deleted.

original    the page of a group that became known first
left        the shingles of a page without those that its site repeats; with few of them, a page is
            like another only if the titles are the same
"""

import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from minicrawl.search.page_text import indexed

# ================================================================ minhash
#
# Signatures of texts: two texts are about as alike as their signatures.
#
# Laws: the share of places in which two signatures agree is, but for chance, the share of shingles
# that the texts have in common (Jaccard's coefficient J). A signature depends on the words of a
# text alone, and is the same on every machine.
#
# shingle     three words, one behind the other, as a hash of 32 bits
# place       the least of all shingles in one of 128 random orders; 8 bits of it are kept
# standard error of an estimate   the root of J (1 - J) / 128, at most .044

PLACES = 128
LONGEST_SIGNED = 200_000
"""Characters of a text that count."""
_WORDS_OF_SHINGLE = 3
_AT_ONCE = 2048
"""Shingles; the table of their orders is a megabyte, which caches hold."""
_BY_CHANCE = 1 / 256

Hashes = NDArray[np.uint32]
Signatures = NDArray[np.uint8]

_random = np.random.RandomState(128)  # whose numbers no version of numpy changes
_FACTORS = _random.randint(0, 1 << 32, (PLACES, 1), dtype=np.uint32) | np.uint32(1)
_OFFSETS = _random.randint(0, 1 << 32, (PLACES, 1), dtype=np.uint32)
_FACTOR, _INVERSE = 0x9E3779B97F4A7C15, 0xF1DE83E19937733D
"""Their product is 1, modulo 2^64."""
_MIXERS = np.array((0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93), np.uint64)


def _letters() -> NDArray[np.uint64]:
    """What each byte counts in a word; 0 is no part of a word."""
    found = np.arange(256, dtype=np.uint64)
    ascii_letters = [chr(byte).isalnum() for byte in range(128)]
    found[:128][~np.array(ascii_letters)] = 0
    found[ord("A") : ord("Z") + 1] += np.uint64(32)
    return found


def _powers(first: int, factor: int) -> NDArray[np.uint64]:
    """For each place of a text."""
    factors = np.full(LONGEST_SIGNED, factor, np.uint64)
    factors[0] = first
    return np.cumprod(factors)


_LETTERS = _letters()
_POWERS, _SHIFTS = _powers(_FACTOR, _FACTOR), _powers(1, _INVERSE)


def signature(text: str, words: str = "") -> bytes | None:
    """The signature of a text; None if it has no shingle. `words` are all of its words as they are
    indexed, for whoever has them: to find them is most of the work.
    """
    found = shingles(text, words)
    return _least(found).tobytes() if len(found) else None


def shingles(text: str, words: str = "") -> Hashes:
    """The different shingles of a text, in order."""
    are_of_all, signed = len(text) <= LONGEST_SIGNED, text[:LONGEST_SIGNED]
    if not signed.isascii():
        signed = words if words and are_of_all else indexed(signed)
    hashes = _hashes_of_words(signed)
    if len(hashes) < _WORDS_OF_SHINGLE:
        return np.empty(0, np.uint32)
    mixed = hashes[:-2] * _MIXERS[0] + hashes[1:-1] * _MIXERS[1] + hashes[2:] * _MIXERS[2]
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MIXERS[0]
    found = np.sort((mixed >> np.uint64(32)).astype(np.uint32))
    # np.unique takes ten times as long for so few.
    return found[np.concatenate(([True], found[1:] != found[:-1]))]


def likeness(ones: Signatures, others: Signatures) -> NDArray[np.float64]:
    """How alike the texts of these signatures are, row by row."""
    agreeing = np.count_nonzero(ones == others, axis=1) / PLACES
    shares: NDArray[np.float64] = (agreeing - _BY_CHANCE) / (1 - _BY_CHANCE)
    return np.maximum(shares, 0.0)


def _hashes_of_words(text: str) -> NDArray[np.uint64]:
    """A hash of each word, in order: the sum of its letters times powers by their places."""
    letters = _LETTERS.take(np.frombuffer(text.encode()[:LONGEST_SIGNED], np.uint8))
    is_letter = letters != 0
    is_begin = is_letter.copy()
    is_begin[1:] &= ~is_letter[:-1]
    begins = np.flatnonzero(is_begin)
    if not len(begins):
        return np.empty(0, np.uint64)
    # Powers by places in the text are quicker than by places in words; the inverse of where a word
    # begins makes the one of the other.
    letters *= _POWERS[: len(letters)]
    hashes: NDArray[np.uint64] = np.add.reduceat(letters, begins) * _SHIFTS[begins]
    return hashes ^ (hashes >> np.uint64(32))


def _least(found: Hashes) -> Signatures:
    """For each order some bits of the least shingle."""
    least = np.full(PLACES, np.iinfo(np.uint32).max, np.uint32)
    for start in range(0, len(found), _AT_ONCE):
        ordered = _FACTORS * found[start : start + _AT_ONCE]
        ordered += _OFFSETS  # in place: another table would cost more than all the rest
        np.minimum(least, ordered.min(axis=1), out=least)
    return (least * np.uint32(0x9E3779B1) >> np.uint32(24)).astype(np.uint8)


# ================================================================ near duplicates

FILE = "near-duplicates"
ALIKE = 0.7
"""From this share of common shingles on."""
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
_HEADER = struct.Struct("<8sIq")
_MAGIC = b"likes 1\n"

Pages = NDArray[np.int64]


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


class NearDuplicates(NamedTuple):
    """The pages of all groups, in order, and the original of each."""

    pages: Pages
    originals: Pages

    def originals_of(self, pages: Pages) -> Pages:
        """The original of each page; -1 for a page that is like no other."""
        places = np.searchsorted(self.pages, pages)
        places[places == len(self.pages)] = 0
        if not len(self.pages):
            return np.full(len(pages), -1, np.int64)
        return np.where(self.pages[places] == pages, self.originals[places], -1)

    def others(self) -> Pages:
        """How many other pages there are in the group of each page."""
        _, groups, sizes = np.unique(self.originals, return_inverse=True, return_counts=True)
        return sizes[groups].astype(np.int64) - 1

    def like(self, page: int) -> list[int]:
        """All other pages of the group of a page."""
        (original,) = self.originals_of(np.array([page]))
        group = self.pages[self.originals == original] if original >= 0 else self.pages[:0]
        return [other for other in group.tolist() if other != page]

    def first_of_groups(self, pages: Pages) -> NDArray[np.bool_]:
        """For each of these pages whether none before it is of its group."""
        originals = self.originals_of(pages)
        groups = np.where(originals < 0, -1 - np.arange(len(pages)), originals)
        _, places = np.unique(groups, return_index=True)
        firsts = np.zeros(len(pages), np.bool_)
        firsts[places] = True
        return firsts


NONE = NearDuplicates(np.empty(0, np.int64), np.empty(0, np.int64))


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


def keep(folder: Path, store: str, found: NearDuplicates) -> None:
    """Write the table, of a store of this identity, beside the index."""
    draft = folder / f"{FILE}.draft"
    header = _HEADER.pack(_MAGIC, crc32(store.encode()), len(found.pages))
    draft.write_bytes(header + found.pages.tobytes() + found.originals.tobytes())
    draft.rename(folder / FILE)


def kept(folder: Path, store: str | None = None) -> NearDuplicates | None:
    """The table that is beside the index; None without one of this store that is whole."""
    try:
        content = (folder / FILE).read_bytes()
        magic, code, count = _HEADER.unpack_from(content)
        numbers: Sequence[int] | Pages = np.frombuffer(content, np.int64, 2 * count, _HEADER.size)
    except (FileNotFoundError, struct.error, ValueError):
        return None
    if magic != _MAGIC or (store is not None and code != crc32(store.encode())):
        return None
    pages = np.asarray(numbers)
    return NearDuplicates(pages[:count], pages[count:])
