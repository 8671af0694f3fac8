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

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from minicrawl.errors import UsageError
from minicrawl.search.query import Phrase, sought_words
from minicrawl.web.words import of_phrase

if TYPE_CHECKING:
    import tantivy


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
    letters = next((one for one in _ALPHABETS if word[0] in one), "")
    exchanged = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)
    )
    found = dict.fromkeys(_others(word, letters), 1.0) | dict.fromkeys(exchanged, _EXCHANGED)
    found.pop(word, None)
    return {
        other: weight * (1.0 if other[0] == word[0] else _OTHER_BEGINNING)
        for other, weight in found.items()
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
        for column, wanted in enumerate(other, 1):
            cost = min(before[column] + 1, costs[-1] + 1, before[column - 1] + (letter != wanted))
            is_exchange = (
                row > 1 < column and letter == other[column - 2] and wanted == word[row - 2]
            )
            costs.append(min(cost, two_before[column - 2] + 1) if is_exchange else cost)
        two_before, before = before, costs
    return before[-1] <= 2  # noqa: PLR2004 - two mistakes


# ================================================================ forms
#
# Other forms of a word, by stemming: `partitions` and `partitioning` for `partitioned`.
#
# Laws: a word is stemmed by the language of the page it is on. A language without a stemmer, or a
# page without a known language, has no other forms. A page that declares no language gets the one
# with most stop words in its text, if these are as frequent as in prose. A model of more languages
# was rejected: it takes 100 MB and a second to load, in every process that indexes.

STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""Tantivy's stemmers (Snowball), by language."""
_MOST_FORMS = 8
_SHORTEST_STEM = 3
_LOOKED_AT = 300
"""Number of words with the beginning of a stem among which its forms are sought."""


def stems(words: Iterable[str], language: str) -> list[str]:
    """Return the stem of each word; nothing for a language without a stemmer."""
    name = STEMMERS.get(language)
    return _analyzer("stemmer", name).analyze(" ".join(words)) if name else []


def forms(word: str, language: str, words: Words) -> tuple[str, ...]:
    """Return the most frequent words of the index with the stem of this one."""
    stem = next(iter(stems([word], language)), "")
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(word, stem, strict=False))
    beginning = "".join(letter for letter, _ in alike)
    if len(beginning) < _SHORTEST_STEM:
        return ()
    others = [other for other, _ in words.words_from(beginning, _LOOKED_AT) if other != word]
    stemmed = zip(others, stems(others, language), strict=True)
    return tuple(other for other, found in stemmed if found == stem)[:_MOST_FORMS]


_WITH_STOP_WORDS = ("da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv")
_READ = 2_000
"""Characters of a text from which its language is detected."""
_FEWEST_WORDS = 15
_OF_PROSE = 0.15
"""Minimum share of stop words in prose; code and lists have fewer."""


def language_of(words: str) -> str:
    """Return the language of a text, given its words as the index has them; "" if in doubt."""
    some = words[:_READ].split()
    counts = Counter(chain.from_iterable(map(_stop_word_of, some))).most_common(2)
    if len(some) < _FEWEST_WORDS or not counts or counts[0][1] < _OF_PROSE * len(some):
        return ""
    is_clear = len(counts) == 1 or counts[0][1] > counts[1][1]
    return counts[0][0] if is_clear else ""


_MORE_STOP_WORDS = (
    " about am another any been between can could did do does during each from had has have how i "
    "its me more most my our own same should so some than those through very we what when where "
    "which while who whom whose why would you your "
)
"""English stop words that Tantivy's list, the shortest of all, lacks."""


def is_stop_word(word: str, languages: Iterable[str]) -> bool:
    """Return True if a word says nothing by itself in one of these languages."""
    known = set(_stop_word_of(word))
    if f" {word} " in _MORE_STOP_WORDS:
        known.add("en")
    return not known.isdisjoint(languages)


@lru_cache(1 << 16)
def _stop_word_of(word: str) -> tuple[str, ...]:
    """Return the languages in which a word is a stop word."""
    return tuple(
        one for one in _WITH_STOP_WORDS if not _analyzer("stopword", STEMMERS[one]).analyze(word)
    )


@lru_cache
def _analyzer(kind: Literal["stopword", "stemmer"], language: str) -> tantivy.TextAnalyzer:
    """Return what leaves out the stop words of a language, or replaces words by their stems."""
    import tantivy

    of_language = {"stopword": tantivy.Filter.stopword, "stemmer": tantivy.Filter.stemmer}[kind]
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return words.filter(of_language(language)).build()


# ================================================================ curation
#
# Synonyms and pins: what the owner of a search knows better than its ranking.
#
# A page with a synonym of a word counts as one with another form of the word. Pinned pages come
# first if the query has these words and nothing else. Laws: a pin shows only pages of the index,
# and a file with a mistake is refused as a whole.

_CURATED = ("synonyms", "pins")


class Curation(NamedTuple):
    """Synonyms and pins."""

    synonyms: Mapping[str, tuple[Phrase, ...]]
    """Words, with their synonyms."""
    pins: Mapping[str, tuple[str, ...]]
    """Words of queries, with the URLs that come first."""


def file_of(folder: Path) -> Path:
    """Return the file with the synonyms and pins of an index in this folder.

    It is read again when it changes:

        synonyms = [["postgres", "postgresql"], ["ci", "continuous integration"]]

        [pins]
        "getting started" = ["https://example.org/tutorial"]
    """
    return folder.with_name(f"{folder.name}.toml")


def curation(folder: Path) -> Curation:
    """Return the synonyms and pins of an index. Raises UsageError if the file has a mistake."""
    file = file_of(folder)
    if not file.is_file():
        return Curation({}, {})
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise UsageError(f"{file}: {error}") from error
    if unknown := found.keys() - set(_CURATED):
        raise UsageError(f"{file}: {min(unknown)!r} is not one of {', '.join(_CURATED)}")
    groups, pins = found.get("synonyms", []), found.get("pins", {})
    if not isinstance(groups, list) or not all(map(_is_text_list, groups)):
        raise UsageError(f"{file}: synonyms must be lists of words, such as [['tv', 'television']]")
    if not isinstance(pins, dict) or not all(map(_is_text_list, pins.values())):
        raise UsageError(f"{file}: pins must be lists of URLs")
    pinned = {
        " ".join(dict.fromkeys(sought_words(text))): tuple(urls) for text, urls in pins.items()
    }
    return Curation(_synonyms(groups), pinned)


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _synonyms(groups: list[list[str]]) -> dict[str, tuple[Phrase, ...]]:
    found = defaultdict[str, list[Phrase]](list)
    for group in groups:
        phrases = [phrase for text in group if (phrase := tuple(of_phrase(text)))]
        for phrase in phrases:
            if len(phrase) == 1:
                found[phrase[0]] += (other for other in phrases if other != phrase)
    return {word: tuple(others) for word, others in found.items()}
