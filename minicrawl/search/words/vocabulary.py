"""Corrects misspelt words by those of an index; finds their other forms, and synonyms from a file.

Law: only words of the index are proposed, and the number of pages with each decides between them. A
word that pages have is never misspelt, however rare; a more frequent word is only suggested.

    mdoels      -> models       two letters exchanged
    managment   -> management   a letter left out
    subprosess  -> subprocess   another letter
    proccesing  -> processing   two mistakes, after the first two letters

All words with one mistake are tried, since looking up a word takes microseconds. With two mistakes
they would be far too many, so the most frequent words with the same beginning are compared.

Words that a user wrote as one, such as `CMAKE_BUILD_TYP`, are misspelt if no page has them side by
side, even if pages have each of them. Then one of them is replaced, so that pages have all of them
side by side. A word is also split where a sign between two words is missing:

    cmake build typ       -> cmake build type
    cmake buildtype       -> cmake build type
    cmakebuildtype        -> cmake build type
    cmak ebuild type      -> cmake build type
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

_SHORTEST, _SHORTEST_OF_TWO, _LONGEST = 4, 7, 32
"""Minimum letters of a word to correct one mistake, and two; maximum letters, as the number of
words with one mistake grows with them.
"""
_SHORTEST_OF_PHRASE = 3
_MOST_REPLACEMENTS = 12
"""Words with one mistake that are tried for one word of a phrase."""
_MOST_PARTS = 4
"""Maximum words that a word without signs is split into."""
_FIRST_LETTERS, _COMPARED = 2, 3_000
"""Letters of the beginning that words with two mistakes share, and maximum words compared."""
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

    def pages_with_phrase(self, phrase: Sequence[str]) -> int:
        """Return how many pages have these words side by side."""


def nearest(word: str, words: Words) -> str | None:
    """Return the probable correction of a word that no page has, or None."""
    return _nearest(word, words, 0)


def more_usual(word: str, words: Words) -> str | None:
    """Return a similar word on far more pages, or None."""
    return _nearest(word, words, _MORE_FREQUENT * words.pages_with(word), mistakes=1)


def nearest_phrase(phrase: Sequence[str], words: Words) -> Sequence[str]:
    """Return what was probably meant by words that were written as one, each as it should be.

    A word may become several, with spaces between them.
    """
    if len(phrase) > 1 and words.pages_with_phrase(phrase):
        return phrase
    unknown = [place for place, word in enumerate(phrase) if not words.pages_with(word)]
    if len(phrase) == 1 and not unknown:
        return phrase
    best, most = phrase, 0.0
    for changed, weight in _changed(phrase, unknown, words):
        parts = " ".join(changed).split()
        if all(map(words.pages_with, parts)):
            pages = words.pages_with_phrase(parts)
            if weight * pages > most:
                best, most = changed, weight * pages
    return best


def _changed(
    phrase: Sequence[str], unknown: Sequence[int], words: Words
) -> Iterator[tuple[Sequence[str], float]]:
    """Yield phrases with one mistake less, with the likelihood of each."""
    # One mistake is likelier than two, so that only an unknown word is replaced if there is one.
    for place in unknown or range(len(phrase)):
        for other, weight in _replacements(phrase[place], words, is_alone=len(phrase) == 1):
            yield [*phrase[:place], other, *phrase[place + 1 :]], weight
    for place, (word, other) in enumerate(pairwise(phrase)):  # a letter on the wrong side of a sign
        for pair in ((word + other[0], other[1:]), (word[:-1], word[-1] + other)):
            if all(pair):
                yield [*phrase[:place], *pair, *phrase[place + 2 :]], _EXCHANGED


def _replacements(word: str, words: Words, *, is_alone: bool) -> Iterator[tuple[str, float]]:
    """Yield what may have been meant by a word of a phrase, with the likelihood of each."""
    if not (word.isalpha() and _SHORTEST_OF_PHRASE <= len(word) <= _LONGEST):
        return
    for parts in _splits(word, words):
        yield " ".join(parts), 1.0
    if not is_alone:
        nearness = {
            other: weight for other, weight in _by_one(word).items() if words.pages_with(other)
        }
        usual = sorted(nearness, key=lambda other: -nearness[other] * words.pages_with(other))
        yield from ((other, nearness[other]) for other in usual[:_MOST_REPLACEMENTS])


def _splits(word: str, words: Words, most: int = _MOST_PARTS) -> Iterator[tuple[str, ...]]:
    """Yield the ways to split a word into words that pages have."""
    for at in range(1, len(word)):
        first, ending = word[:at], word[at:]
        if words.pages_with(first):
            if words.pages_with(ending):
                yield first, ending
            elif most > 2:  # noqa: PLR2004 - two parts are the least
                yield from ((first, *parts) for parts in _splits(ending, words, most - 1))


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
