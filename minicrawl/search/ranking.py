"""Ranking: the second look at the best pages.

Laws: the score of a page is its BM25 score times one factor for each of the parts below; a part is
between 0 and 1, and its factor is 1 + weight x part. Importance decides between equals, and never
brings a page up that says little of what is asked.

share        of the words that the page has anywhere: a factor by itself, to a power
title        share of the words in the title
exact        how much of the title, but for what all pages of the site have, is asked for
importance   of the page, in relation to the average of all pages, on a scale of logarithms; the
             more words a query has, the less it needs it
proximity    how near neighbouring words of the query are to each other, and in which field
natural      1, and less where a word of the query makes up more of the text than people would write
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import NamedTuple
from urllib.parse import unquote

from minicrawl.search.index import Entry, FieldWeights
from minicrawl.search.words import comparable, words_of

_GRADES = ((1, 1.0), (2, 0.8), (4, 0.6), (8, 0.4), (20, 0.2))
_FAR = 0.05
_FIELDS = {"title": 1.0, "anchor": 0.8, "headings": 0.7, "body": 0.5}
_MOST_IMPORTANT = 300.0
"""Times the average: beyond it, importance makes no difference."""
_LONGEST_READ, _LITTLE_READ = 20_000, 2_000
"""Characters of a text, and of its boilerplate, in which words are looked for by their places."""
_MOST_NATURAL = 0.15
"""The share of a text that one word makes up, where people wrote it for people."""
_OFTEN = {False: 5, True: 25}
"""So often it is repeated in a short text, such as a title, and in a long one, to be looked at."""
_LONG_TEXT = 300
_NEAR = 200
"""Characters between words that are near each other at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """How much each part counts."""

    fields: FieldWeights = field(default_factory=FieldWeights)
    share: float = 3.0
    title: float = 0.3
    exact: float = 0.75
    importance: float = 2.5
    proximity: float = 6.0


class Score(NamedTuple):
    """The score of a page for a query, and its parts."""

    bm25: float
    share: float
    title: float
    exact: float
    importance: float
    proximity: float
    natural: float
    total: float


def judged(
    bm25: float, entry: Entry, words: Sequence[str], relative: float, weights: RankingWeights
) -> Score:
    """The score of a page whose importance is `relative` to the average."""
    title = words_of(entry.own_title)
    places = {name: _places(text, words) for name, text in _texts(entry).items()}
    known = {words[place] for found in places.values() for _, place in found.hits}
    in_title = _share(words, set(title))
    exact = in_title * _share(title, set(words))
    score = Score(
        bm25=bm25,
        share=_share(words, known) if len(words) > 1 else 1.0,
        title=in_title,
        exact=exact,
        importance=importance_part(relative) / max(len(words), 1),
        proximity=_proximity(len(words), places),
        natural=min(_natural(places[name]) for name in ("title", "body")),
        total=0.0,
    )
    return score._replace(total=_total(score, weights))


def _total(score: Score, weights: RankingWeights) -> float:
    return (
        score.bm25
        * float(score.share**weights.share)
        * (1 + weights.title * score.title)
        * (1 + weights.exact * score.exact)
        * (1 + weights.importance * score.importance)
        * (1 + weights.proximity * score.proximity)
        * score.natural
    )


def importance_part(relative: float) -> float:
    """The importance of a page on the scale of logarithms."""
    return min(1.0, log(1 + max(relative, 0.0)) / log(1 + _MOST_IMPORTANT))


def _texts(entry: Entry) -> dict[str, str]:
    """The fields of a page, as they are compared."""
    body = f"{entry.body[:_LONGEST_READ]}\n{entry.repeated[:_LITTLE_READ]}"
    texts = {
        "title": entry.title,
        "anchor": "\n".join(entry.anchors),
        "headings": "\n".join(entry.headings),
        "body": body,
        "url": unquote(entry.url),
    }
    return {name: comparable(text) for name, text in texts.items()}


def _share(words: Sequence[str], known: set[str]) -> float:
    return sum(word in known for word in words) / max(len(words), 1)


def _natural(places: _Places) -> float:
    """How much of a text whose words are repeated beyond measure counts."""
    if not places.hits:
        return 1.0
    (_, most), *_ = Counter(number for _, number in places.hits).most_common(1)
    if most < _OFTEN[len(places.text) >= _LONG_TEXT]:
        return 1.0
    words = places.text.count(" ") + places.text.count("\n") + 1
    return min(1.0, _MOST_NATURAL * words / most) ** 2


# ---------------------------------------------------------------- proximity


class _Places(NamedTuple):
    """Where the words of a query are in a text: offset and number of the word, in order."""

    text: str
    hits: list[tuple[int, int]]


def _places(text: str, words: Sequence[str]) -> _Places:
    hits = [(at, number) for number, word in enumerate(words) for at in _offsets(text, word)]
    return _Places(text, sorted(hits))


def _offsets(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (text[end : end + 1].isalnum() or (at and text[at - 1].isalnum())):
            yield at
        at = text.find(word, end)


def _proximity(words: int, places: Mapping[str, _Places]) -> float:
    """The mean over all neighbours in the query, each in the field that brings it most."""
    pairs = words - 1
    if pairs < 1:
        return 0.0
    best = [0.0] * pairs
    for name, factor in _FIELDS.items():
        for place, distance in enumerate(_distances(words, places[name])):
            best[place] = max(best[place], factor * _grade(distance))
    return sum(best) / pairs


def _grade(distance: int | None) -> float:
    if distance is None:
        return 0.0
    return next((grade for most, grade in _GRADES if distance <= most), _FAR)


def _distances(words: int, places: _Places) -> list[int | None]:
    """The least distance of each word of the query to the next one; the wrong way round is one
    more.
    """
    last: list[int | None] = [None] * words
    nearest: list[int | None] = [None] * (words - 1)
    for at, number in places.hits:
        last[number] = at
        for pair, other, more in ((number - 1, number - 1, 0), (number, number + 1, 1)):
            if 0 <= pair < words - 1 and (before := last[other]) is not None:
                found = _words_between(places.text, before, at) + more
                known = nearest[pair]
                nearest[pair] = found if known is None else min(known, found)
    return nearest


def _words_between(text: str, begin: int, end: int) -> int:
    """About how many words on; far away is far away."""
    if end - begin > _NEAR:
        return _NEAR
    return max(text.count(" ", begin, end) + text.count("\n", begin, end), 1)
