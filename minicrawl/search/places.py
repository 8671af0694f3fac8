"""Places: where the words of a query are in a text, and how near to each other.

Laws: texts are UTF-8 as words are compared, and every byte of a letter beyond ASCII is part of a
word. Of a word only the first places are looked at, so a long text costs little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from minicrawl.search.words import is_single_sign

_GRADES = ((1, 1.0), (2, 0.8), (4, 0.6), (8, 0.4), (20, 0.2))
_FAR = 0.05
_NEAR = 200
"""Bytes between words that are near each other at all."""
_MOST_PLACES = 200
"""Of one word in one text."""
_LETTERS = frozenset(range(0x80, 0x100)) | frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)
_OF_NAMES = _LETTERS | frozenset(b"_")


class Places(NamedTuple):
    """Where the words of a query are in a text: offset and number of the word, in order."""

    text: bytes
    hits: list[tuple[int, int]]
    counts: tuple[int, ...]
    """How often each of the words is there."""


def places(text: bytes, words: Sequence[str]) -> Places:
    """The places of these words."""
    hits: list[tuple[int, int]] = []
    counts = []
    for number, word in enumerate(words):
        coded = word.encode()
        found = list(_offsets(text, coded, within=is_single_sign(word)))
        hits += [(at, number) for at in found]
        counts.append(text.count(coded) if len(found) == _MOST_PLACES else len(found))
    hits.sort()
    return Places(text, hits, tuple(counts))


def _offsets(text: bytes, word: bytes, *, within: bool) -> Iterator[int]:
    """`within`: it is a sign of a script whose words are pairs of signs."""
    at, count, length, last = text.find(word), 0, len(word), len(text)
    while at >= 0 and count < _MOST_PLACES:
        end = at + length
        begins = at == 0 or text[at - 1] not in _LETTERS
        if within or (begins and (end == last or text[end] not in _LETTERS)):
            count += 1
            yield at
        at = text.find(word, end)


def is_in(text: bytes, piece: bytes) -> bool:
    """Whether a piece of text is there, and not as a part of a longer word or name; nothing is
    nowhere.
    """
    at = text.find(piece) if piece else -1
    while at >= 0:
        end = at + len(piece)
        goes_on = piece[-1] in _OF_NAMES and end < len(text) and text[end] in _OF_NAMES
        began = piece[0] in _OF_NAMES and at > 0 and text[at - 1] in _OF_NAMES
        if not (goes_on or began):
            return True
        at = text.find(piece, at + 1)
    return False


# ---------------------------------------------------------------- proximity


def grades(words: int, found: Places) -> list[float]:
    """How near each word of the query is to the next one: 1 if they are neighbours."""
    return [_grade(distance) for distance in _distances(words, found)]


def _grade(distance: int | None) -> float:
    if distance is None:
        return 0.0
    return next((grade for most, grade in _GRADES if distance <= most), _FAR)


def _distances(words: int, found: Places) -> list[int | None]:
    """The least distance of each word of the query to the next one; the wrong way round is one
    more.
    """
    last: list[int | None] = [None] * words
    nearest: list[int | None] = [None] * (words - 1)
    for at, number in found.hits:
        last[number] = at
        for pair, other, more in ((number - 1, number - 1, 0), (number, number + 1, 1)):
            if 0 <= pair < words - 1 and (before := last[other]) is not None:
                known = nearest[pair]
                if known == 1:
                    continue
                distance = _words_between(found.text, before, at) + more
                nearest[pair] = distance if known is None else min(known, distance)
    return nearest


def _words_between(text: bytes, begin: int, end: int) -> int:
    """About how many words on; far away is far away."""
    if end - begin > _NEAR:
        return _NEAR
    return max(text.count(b" ", begin, end) + text.count(b"\n", begin, end), 1)
