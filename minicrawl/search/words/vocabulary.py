"""Corrects misspelt words by those of an index; finds their other forms, and synonyms from a file.

Law: only words of the index are proposed, and the number of pages with each decides between them. A
word that pages have is never misspelt, however rare; a more frequent word is only suggested.

    mdoels      -> models       two letters exchanged
    managment   -> management   a letter left out
    subprosess  -> subprocess   another letter
    proccesing  -> processing   two mistakes, after the first two letters

All words with one mistake are tried, since looking up a word takes microseconds. With two mistakes
they would be far too many, so all words of the index with the same beginning are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

_SHORTEST, _SHORTEST_OF_TWO, _LONGEST = 4, 7, 32
"""Minimum letters of a word to correct one mistake, and two; maximum letters, as the number of
words with one mistake grows with them.
"""
_FIRST_LETTERS = 2
_COMPARED = 3_000
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "אבגדהוזחטיכלמנסעפצקרשת",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
)
_EXCHANGED, _OTHER_BEGINNING = 4.0, 0.1
"""Weights of words that differ by an exchange, the most frequent slip, and in the first letter, the
rarest.
"""
_MORE_FREQUENT = 30
"""A word is suggested instead of another if it is on this many times more pages."""


class Words(Protocol):
    """Words of an index."""

    def pages_with(self, word: str) -> int:
        """Return how many pages have a word."""

    def words_from(self, beginning: str, most: int) -> Sequence[tuple[str, int]]:
        """Return the words with this beginning that most pages have, with their number."""


def nearest(word: str, words: Words) -> str | None:
    """Return the probable correction of a word that no page has, or None."""
    return _nearest(word, words, 0)


def more_usual(word: str, words: Words) -> str | None:
    """Return a similar word on far more pages, or None."""
    return _nearest(word, words, _MORE_FREQUENT * words.pages_with(word), mistakes=1)


def _nearest(word: str, words: Words, least: int, mistakes: int = 2) -> str | None:
    if not _SHORTEST <= len(word) <= _LONGEST or not word.isalpha():
        return None
    weights = {near: weight * words.pages_with(near) for near, weight in _by_one(word).items()}
    best = max(weights, key=lambda near: (weights[near], near), default="")
    if best and weights[best] > least:
        return best
    if len(word) < _SHORTEST_OF_TWO or mistakes == 1:
        return None
    # Words come by descending number of pages, so the first one near enough is the best.
    near = words.words_from(word[:_FIRST_LETTERS], _COMPARED)
    return next((other for other, pages in near if pages > least and _is_near(word, other)), None)


def _by_one(word: str) -> Mapping[str, float]:
    """Return the words that differ by one mistake, with the weight of each."""
    letters = next((alphabet for alphabet in _ALPHABETS if word[0] in alphabet), "")
    exchanged = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)
    )
    nearness = dict.fromkeys(_others(word, letters), 1.0) | dict.fromkeys(exchanged, _EXCHANGED)
    nearness.pop(word, None)
    return {
        other: weight * (1.0 if other[0] == word[0] else _OTHER_BEGINNING)
        for other, weight in nearness.items()
    }


def _others(word: str, letters: str) -> Iterator[str]:
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield from (f"{before}{letter}{after}" for letter in letters)
        if after:
            yield before + after[1:]
            yield from (f"{before}{letter}{after[1:]}" for letter in letters)


def _is_near(word: str, other: str) -> bool:
    """Return True if at most two mistakes separate the words. An exchange is one mistake."""
    if abs(len(word) - len(other)) > 2:  # noqa: PLR2004 - two mistakes
        return False
    two_before, before = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        costs = [row]
        for column, letter_there in enumerate(other, 1):
            cost = min(
                before[column] + 1, costs[-1] + 1, before[column - 1] + (letter != letter_there)
            )
            is_exchange = (
                row > 1 < column and letter == other[column - 2] and letter_there == word[row - 2]
            )
            costs.append(min(cost, two_before[column - 2] + 1) if is_exchange else cost)
        two_before, before = before, costs
    return before[-1] <= 2  # noqa: PLR2004 - two mistakes
