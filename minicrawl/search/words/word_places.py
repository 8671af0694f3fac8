"""Places of query words in a text, and how near they are to each other.

Laws: texts are UTF-8, normalized for comparison, and every byte of a non-ASCII letter is part of
a word. Only the first places of a word are considered, so that long texts are cheap.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from minicrawl.web.words import is_single_sign

_GRADES = ((1, 1.0), (2, 0.8), (4, 0.6), (8, 0.4), (20, 0.2))
"""Grades by the largest distance in words."""
_FAR = 0.05
"""Grade of a larger distance."""
_COUNTED = 200
"""Maximum bytes in which words are counted; `_BYTES_A_WORD` gives larger distances."""
_BYTES_A_WORD = 6
_MOST_PLACES = 200
"""Maximum places of one word in one text."""
_LETTERS = frozenset(range(0x80, 0x100)) | frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)
_LETTER = rb"[a-zA-Z0-9\x80-\xff]"
_NAME_BYTES = _LETTERS | frozenset(b"_")


class Places(NamedTuple):
    """Places of query words in a text: offset and index of the word, in order."""

    text: bytes
    hits: list[tuple[int, int]]
    counts: tuple[int, ...]
    """Number of occurrences of each word."""


def places(text: bytes, words: Sequence[str]) -> Places:
    """Return where the text has each of these words."""
    hits: list[tuple[int, int]] = []
    counts = []
    for number, word in enumerate(words):
        coded, within = word.encode(), is_single_sign(word)
        offsets = list(_offsets(text, coded, within=within))
        hits += [(at, number) for at in offsets]
        is_all = len(offsets) < _MOST_PLACES
        counts.append(len(offsets) if is_all else _count(text, coded, within=within))
    hits.sort()
    return Places(text, hits, tuple(counts))


def with_forms(word_places: Places, forms: Sequence[Sequence[str]]) -> Places:
    """Return the places of the words, and of the other forms of each."""
    more = [
        (at, number)
        for number, variants in enumerate(forms)
        for other in variants
        for at in (
            _offsets_of_phrase(word_places.text, other.encode())
            if " " in other
            else _offsets(word_places.text, other.encode(), within=False)
        )
    ]
    return word_places._replace(hits=sorted(word_places.hits + more)) if more else word_places


def _offsets(text: bytes, word: bytes, *, within: bool) -> Iterator[int]:
    """Yield the offsets of a word. `within`: it is a character of a script indexed by bigrams."""
    at, count, length, last = text.find(word), 0, len(word), len(text)
    while at >= 0 and count < _MOST_PLACES:
        end = at + length
        begins = at == 0 or text[at - 1] not in _LETTERS
        if within or (begins and (end == last or text[end] not in _LETTERS)):
            count += 1
            yield at
        at = text.find(word, end)


def _offsets_of_phrase(text: bytes, phrase: bytes) -> Iterator[int]:
    """Yield the offsets of words with any signs between them, such as `e-mail` for `e mail`."""
    if phrase.partition(b" ")[0] in text:
        words = (rb"[^%b]{1,3}" % _LETTER[1:-1]).join(map(re.escape, phrase.split()))
        pattern = rb"(?<!%b)%b(?!%b)" % (_LETTER, words, _LETTER)
        yield from (match.start() for match in islice(re.finditer(pattern, text), _MOST_PLACES))


def _count(text: bytes, word: bytes, *, within: bool) -> int:
    """Return the number of all occurrences, at the speed of one search: long texts have many."""
    if within:
        return text.count(word)
    return len(re.findall(rb"(?<!%b)%b(?!%b)" % (_LETTER, re.escape(word), _LETTER), text))


def is_in(text: bytes, piece: bytes) -> bool:
    """Return True if a piece occurs in a text, not as part of a longer word or name.

    An empty piece never occurs.
    """
    at = text.find(piece) if piece else -1
    while at >= 0:
        end = at + len(piece)
        goes_on = piece[-1] in _NAME_BYTES and end < len(text) and text[end] in _NAME_BYTES
        began = piece[0] in _NAME_BYTES and at > 0 and text[at - 1] in _NAME_BYTES
        if not (goes_on or began):
            return True
        at = text.find(piece, at + 1)
    return False


def grades(words: int, word_places: Places) -> list[float]:
    """Return how near each query word is to the next one: 1 if they are adjacent."""
    return [
        0.0
        if distance is None
        else next((grade for most, grade in _GRADES if distance <= most), _FAR)
        for distance in distances(words, word_places)
    ]


def distances(words: int, word_places: Places) -> list[int | None]:
    """Return the smallest distance of each query word to the next one; reversed order adds 1."""
    last: list[int | None] = [None] * words
    nearest: list[int | None] = [None] * (words - 1)
    for at, number in word_places.hits:
        last[number] = at
        for pair, other, more in ((number - 1, number - 1, 0), (number, number + 1, 1)):
            if 0 <= pair < words - 1 and (before := last[other]) is not None:
                known = nearest[pair]
                if known == 1:
                    continue
                distance = _words_between(word_places.text, before, at) + more
                nearest[pair] = distance if known is None else min(known, distance)
    return nearest


def _words_between(text: bytes, begin: int, end: int) -> int:
    """Return the approximate distance in words."""
    if end - begin > _COUNTED:
        return (end - begin) // _BYTES_A_WORD
    return max(text.count(b" ", begin, end) + text.count(b"\n", begin, end), 1)
