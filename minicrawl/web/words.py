"""The words of a text, normalised for comparison: for an index, a query or a signature.

A query word matches the same word of a page in any spelling: upper or lower case, composed or
decomposed, with or without accents. Scripts without spaces are indexed as pairs of adjacent
characters, so that any part of a run is found. Nothing raises: lone surrogates are replaced, and
characters that belong to no word separate words.

run    letters of a script that is written without spaces between words
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, groupby
from math import exp, log
from typing import NamedTuple

LONGEST = 64
"""Longest word in characters; longer ones are split, in pages and in queries."""

_RUNS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)

_FIRST_OF_RUNS = "\u0e00"

# Vowel signs of Indic scripts are not letters for Python, but parts of words.
_SIGNS_IN_WORDS = "\u0900-\u0963\u0971-\u0dff\u0f18-\u0fbc"

_EMOJI = (
    "\u203c\u2049\u2122\u2194-\u2199\u21a9\u21aa\u231a-\u23ff\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)

_RUN = re.compile(rf"[{_RUNS}]+|[^{_RUNS}]+")

_ACCENTS = (
    "\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069"
    "\ufe00-\ufe0f\ufeff"
)

_BREVE = "\u0306"

# The breve stays on Cyrillic letters, where it makes a different letter.
_ACCENT = re.compile(f"(?<![\u0438\u0443]){_BREVE}|[{_ACCENTS}]")

# A table takes half the time of a regular expression for words.
_ASCII_WORDS = bytes(
    ord(sign.lower()) if sign.isascii() and sign.isalnum() else ord(" ")
    for sign in map(chr, range(256))
)

# Without these characters, most English lines are pure ASCII, which takes half the time.
_PUNCTUATION = re.compile(
    "[\xa0-\xa9\xab\xac\xae-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7\u2000-\u200a\u2010-\u2029\u202f-\u203b]+"
)

_WORD = re.compile(rf"[^\W_][\w{_SIGNS_IN_WORDS}{_RUNS}{_ACCENTS}{_BREVE}]*+|[{_RUNS}]+|[{_EMOJI}]")

_SURROGATES = re.compile("[\ud800-\udfff]")

# Letters without a Unicode decomposition that people also write without the diacritic.
_PLAIN = str.maketrans(
    dict(zip("\u0131łøđðħŧ", "iloddht", strict=True)) | {"æ": "ae", "œ": "oe", "þ": "th"}
)


class Span(NamedTuple):
    """Part of a text, and its words: more than one if it is long, or a sign such as ½."""

    begin: int
    end: int
    words: list[str]


def whole(text: str) -> str:
    """Return the text with lone surrogates replaced, so that it can be encoded."""
    return text if text.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order."""
    if text.isascii():
        return _words_of_ascii(text)
    words: list[str] = []
    for is_ascii, lines in groupby(_plain_lines(text), str.isascii):
        run = "\n".join(lines)
        if is_ascii:
            words += _words_of_ascii(run)
            continue
        for word in _WORD.findall(run.replace("_", " ")):
            if word.isascii() and len(word) <= LONGEST:
                words.append(word.lower())
            else:
                words += _words_of_one(word)
    return words


def _plain_lines(text: str) -> list[str]:
    """Return the lines of a text, with punctuation replaced in lines that are not ASCII.

    Line by line, because a single foreign character must not slow down the whole text.
    """
    return [line if line.isascii() else _PUNCTUATION.sub(" ", line) for line in text.split("\n")]


def _words_of_ascii(text: str) -> list[str]:
    words = text.encode("ascii").translate(_ASCII_WORDS).decode("ascii").split()
    if len(text) <= LONGEST or max(map(len, words), default=0) <= LONGEST:
        return words
    return list(chain.from_iterable(map(_parts_of_long, words)))


def _parts_of_long(word: str) -> Iterator[str]:
    return (word[place : place + LONGEST] for place in range(0, len(word), LONGEST))


def comparable(text: str) -> str:
    """Return a text in which words can be searched; fast for texts where only case matters."""
    if text.isascii():
        return text.lower()
    lines = (line.lower() if line.isascii() else indexed(line) for line in _plain_lines(text))
    return "\n".join(lines)


def indexed(text: str) -> str:
    """Return the words of a text, separated by spaces: the input of the index."""
    return " ".join(words_of(text))


def spans(text: str) -> Iterator[Span]:
    """Yield the words of a text with their positions."""
    for match in _WORD.finditer(text.replace("_", " ")):
        word, begin = match[0], match.start()
        if word.isascii() and len(word) <= LONGEST:
            yield Span(begin, match.end(), [word.lower()])
            continue
        if word.isascii() or max(word) < _FIRST_OF_RUNS:
            yield Span(begin, match.end(), words_of(word))
            continue
        for match_of_run in _RUN.finditer(word):
            run, start = match_of_run[0], begin + match_of_run.start()
            if run[0] < _FIRST_OF_RUNS:
                yield Span(start, start + len(run), words_of(run))
                continue
            for place in range(len(run)):
                pair = run[place : place + 2]
                yield Span(start + place, start + place + len(pair), words_of(pair)[:1])


def is_single_sign(word: str) -> bool:
    """Return True if the word is a single character of a script that is indexed by pairs."""
    return len(word) == 1 and re.match(f"[{_RUNS}]", word) is not None


def of_phrase(text: str) -> list[str]:
    """Return the words of a phrase whose end may lie within a run of the page."""
    words = words_of(text)
    return words[:-1] if len(words) > 1 and is_single_sign(words[-1]) else words


@lru_cache(1 << 16)
def _words_of_one(word: str) -> tuple[str, ...]:
    apart = unicodedata.normalize("NFKD", whole(word).casefold())
    bare = _ACCENT.sub("", apart).translate(_PLAIN)
    text = unicodedata.normalize("NFKC", bare.casefold())
    return tuple(chain.from_iterable(map(_parts, _WORD.findall(text))))


def _parts(word: str) -> Iterator[str]:
    for run in _RUN.findall(word):
        if run[0] < _FIRST_OF_RUNS:
            yield from _parts_of_long(run)
        else:  # the last character also alone, so that it is found without a neighbour
            yield from (run[place : place + 2] for place in range(len(run)))


def parts_by_counts(counts: Mapping[str, Counter[str]], query: Iterable[str]) -> dict[str, float]:
    """Return the probability of each topic, by naive Bayes; all are equal for unknown words."""
    words = list(query)
    if not any(word in count for count in counts.values() for word in words):
        return dict.fromkeys(counts, 1 / len(counts))
    different = len(set().union(*counts.values()))
    logs = [
        sum(log((count[word] + 1) / (count.total() + different)) for word in words)
        for count in counts.values()
    ]
    likely = [exp(log_likelihood - max(logs)) for log_likelihood in logs]
    return {
        topic: log_likelihood / sum(likely)
        for topic, log_likelihood in zip(counts, likely, strict=True)
    }
