"""Other forms of a word, by stemming: `partitions` and `partitioning` for `partitioned`.

Laws: a word is stemmed by the language of the page it is on. A language without a stemmer, or a
page without a known language, has no other forms. A page that declares no language gets the one
with most stop words in its text, if these are as frequent as in prose. A model of more languages
was rejected: it takes 100 MB and a second to load, in every process that indexes.
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Literal

from minicrawl.search.words.vocabulary import Words

if TYPE_CHECKING:
    import tantivy

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
    neighbours = [other for other, _ in words.words_from(beginning, _LOOKED_AT) if other != word]
    stemmed = zip(neighbours, stems(neighbours, language), strict=True)
    return tuple(other for other, other_stem in stemmed if other_stem == stem)[:_MOST_FORMS]


_SHORTEST_BEGINNING, _LONGEST_ENDING = 6, 1 / 3
"""Letters of a word that a more usual one may continue, and the most letters added, as a share."""
_MOST_LONGER = 3


def more_usual_longer(word: str, words: Words) -> list[str]:
    """Return words that begin with this one and are on more pages: `postgresql` for `postgres`."""
    if len(word) < _SHORTEST_BEGINNING or not word.isalpha():
        return []
    most = (1 + _LONGEST_ENDING) * len(word)
    usual = takewhile(lambda other: other[0] != word, words.words_from(word, _MOST_LONGER))
    return [other for other, _ in usual if len(other) <= most]


_WITH_STOP_WORDS = ("da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv")
_READ = 2_000
"""Characters of a text from which its language is detected."""
_FEWEST_WORDS = 15
_OF_PROSE = 0.15
"""Minimum share of stop words in prose; code and lists have fewer."""


def language_of(words: str) -> str:
    """Return the language of a text, given its words as the index has them; "" if in doubt."""
    beginning = words[:_READ].split()
    counts = Counter(chain.from_iterable(map(_stop_word_of, beginning))).most_common(2)
    if len(beginning) < _FEWEST_WORDS or not counts or counts[0][1] < _OF_PROSE * len(beginning):
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
    return tuple(
        language
        for language in _WITH_STOP_WORDS
        if not _analyzer("stopword", STEMMERS[language]).analyze(word)
    )


@lru_cache
def _analyzer(kind: Literal["stopword", "stemmer"], language: str) -> "tantivy.TextAnalyzer":
    """Return what leaves out the stop words of a language, or replaces words by their stems."""
    import tantivy

    of_language = {"stopword": tantivy.Filter.stopword, "stemmer": tantivy.Filter.stemmer}[kind]
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return words.filter(of_language(language)).build()
