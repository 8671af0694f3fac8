"""Signatures of texts (MinHash): the similarity of two signatures estimates that of the texts.

The share of places in which two signatures agree estimates the share of shingles that the texts
have in common (Jaccard's coefficient J). A signature depends on the words of a text alone, and is
the same on every machine.

shingle         three consecutive words, as a 32-bit hash
place           the least shingle in one of 128 random orders; 8 bits of it are kept
standard error  of an estimate: sqrt(J (1 - J) / 128), at most .044
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from minicrawl.web.words import indexed

PLACES = 128

LONGEST_SIGNED = 200_000
"""Most characters of a text that its signature covers."""

_WORDS_OF_SHINGLE = 3

_AT_ONCE = 2048
"""Number of shingles processed together: the table of their orders is a megabyte and fits the
cache.
"""

_BY_CHANCE = 1 / 256

Hashes = NDArray[np.uint32]

Signatures = NDArray[np.uint8]

_FACTOR, _INVERSE = 0x9E3779B97F4A7C15, 0xF1DE83E19937733D
"""Inverse to each other modulo 2^64."""

_MIXERS = np.array((0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93), np.uint64)


@cache
def _letters() -> NDArray[np.uint64]:
    """Return the value of each byte in the hash of a word; 0 for bytes between words."""
    values = np.arange(256, dtype=np.uint64)
    ascii_letters = [chr(byte).isalnum() for byte in range(128)]
    values[:128][~np.array(ascii_letters)] = 0
    values[ord("A") : ord("Z") + 1] += np.uint64(32)
    return values


# Tables of 3 MB, made on demand: most commands that need words sign no text.


@cache
def _power_series(first: int, factor: int) -> NDArray[np.uint64]:
    """Return first * factor^k for each position k of a text."""
    factors = np.full(LONGEST_SIGNED, factor, np.uint64)
    factors[0] = first
    return np.cumprod(factors)


@cache
def _orders() -> tuple[Hashes, Hashes]:
    """Return the factors and the offsets that put shingles in random orders."""
    random = np.random.RandomState(128)  # its numbers are the same in every version of numpy
    factors = random.randint(0, 1 << 32, (PLACES, 1), dtype=np.uint32) | np.uint32(1)
    return factors, random.randint(0, 1 << 32, (PLACES, 1), dtype=np.uint32)


def signature(text: str, words: str = "") -> bytes | None:
    """Return the signature of a text; None if it has no shingle.

    `words` may hold the indexed words of the whole text, if the caller has them: finding them is
    most of the work.
    """
    hashes = shingles(text, words)
    if not len(hashes):
        return None
    factors, offsets = _orders()
    least = np.full(PLACES, np.iinfo(np.uint32).max, np.uint32)
    for start in range(0, len(hashes), _AT_ONCE):
        ordered = factors * hashes[start : start + _AT_ONCE]
        ordered += offsets  # in place: a second table would cost more than all the rest
        np.minimum(least, ordered.min(axis=1), out=least)
    # 8 bits of the least shingle in each order
    return (least * np.uint32(0x9E3779B1) >> np.uint32(24)).astype(np.uint8).tobytes()


def shingles(text: str, words: str = "") -> Hashes:
    """Return the distinct shingles of a text, in ascending order."""
    are_of_all, signed = len(text) <= LONGEST_SIGNED, text[:LONGEST_SIGNED]
    if not signed.isascii():
        signed = words if words and are_of_all else indexed(signed)
    hashes = _hashes_of_words(signed)
    # A text of one or two words has no shingle: most such texts are alike without being copies.
    if len(hashes) < _WORDS_OF_SHINGLE:
        return np.empty(0, np.uint32)
    mixed = hashes[:-2] * _MIXERS[0] + hashes[1:-1] * _MIXERS[1] + hashes[2:] * _MIXERS[2]
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MIXERS[0]
    ordered = np.sort((mixed >> np.uint64(32)).astype(np.uint32))
    # np.unique takes ten times as long for so few.
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]


def likeness(left: Signatures, right: Signatures) -> NDArray[np.float64]:
    """Return the estimated similarity of the texts of these signatures, row by row."""
    # Of 8 bits, 1 in 256 agrees by chance; the estimate is corrected for that below.
    agreeing = np.count_nonzero(left == right, axis=1) / PLACES
    shares: NDArray[np.float64] = (agreeing - _BY_CHANCE) / (1 - _BY_CHANCE)
    return np.maximum(shares, 0.0)


def _hashes_of_words(text: str) -> NDArray[np.uint64]:
    """Return a hash of each word, in order: the sum of its letters times powers by position."""
    letters = _letters().take(np.frombuffer(text.encode()[:LONGEST_SIGNED], np.uint8))
    is_letter = letters != 0
    is_begin = is_letter.copy()
    is_begin[1:] &= ~is_letter[:-1]
    begins = np.flatnonzero(is_begin)
    if not len(begins):
        return np.empty(0, np.uint64)
    # Powers by position in the text are faster than by position in the word; the inverse power of
    # the word's start converts one into the other.
    powers, inverse_powers = _power_series(_FACTOR, _FACTOR), _power_series(1, _INVERSE)
    letters *= powers[: len(letters)]
    hashes: NDArray[np.uint64] = np.add.reduceat(letters, begins) * inverse_powers[begins]
    return hashes ^ (hashes >> np.uint64(32))


ALIKE = 0.7
"""Share of common shingles from which texts count as near-duplicates."""
