"""Ranking: the second look at the best pages.

Laws: the score of a page is its BM25 score times one factor for each of the parts below; a part is
between 0 and 1, and its factor is 1 + weight x part. Importance decides between equals, and never
brings a page up that says little of what is asked. A rare word is more of what is asked than a
usual one.

share        of the words that the page has anywhere: a factor by itself, to a power
title        how much of what is asked for is in the title, if the title says nothing else
exact        share of the words in the title, times how much of the title is asked for
heading      how much of what is asked for is in the title or a heading as it is written
written      the same of the whole page
phrase       1 if the page has the whole query as it is written, in one piece
importance   of the page, in relation to the average of all pages, on a scale of logarithms; the
             more words a query has, the less it needs it
proximity    how near neighbouring words of the query are to each other, and in which field
natural      1, and less where a word of the query makes up more of the text than people would write

As it is written: signs and all, such as `trim()`, `--all` or `__init__`. Capitals count where the
query has some.

What the links of other pages say is as good as a title, a heading and the text, if many sites say
it: `title`, `heading`, `written` and `phrase` see it, and it counts as much as `agreement` of the
number of these sites. One site alone decides nothing, however often it says so. Where links to a
page that lacks the words say "bill clinton" on 25 sites, its phrase is .89.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import NamedTuple

from minicrawl.search.index import FieldWeights, Places, grades, is_in, places
from minicrawl.search.notes import StoredEntry
from minicrawl.web.words import comparable, of_phrase, words_of

_FIELDS = {"title": 1.0, "anchor": 0.8, "headings": 0.7, "body": 0.5}
_MOST_IMPORTANT = 300.0
"""Times the average: beyond it, importance makes no difference."""
_MOST_NATURAL = 0.15
"""The share of a text that one word makes up, where people wrote it for people."""
_PENALTY = {"title": 3, "body": 2}
"""The power of how much it is: a word in a title counts in several parts."""
_OFTEN = {False: 5, True: 25}
"""So often it is repeated in a short text, such as a title, and in a long one, to be looked at."""
_LONG_TEXT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """How much each part counts."""

    fields: FieldWeights = field(default_factory=FieldWeights)
    share: float = 3.0
    title: float = 3.0
    exact: float = 0.375
    heading: float = 8.0
    written: float = 3.0
    phrase: float = 2.0
    importance: float = 2.5
    proximity: float = 6.0


class Score(NamedTuple):
    """The score of a page for a query, and its parts."""

    bm25: float
    share: float
    title: float
    exact: float
    heading: float
    written: float
    phrase: float
    importance: float
    proximity: float
    natural: float
    total: float


class _Piece(NamedTuple):
    """Some of the query as it is written."""

    content: bytes
    compared: bytes
    """Empty if it has capitals; else those of the page make no difference."""
    share: float
    """Of all that is asked for."""

    def is_in(self, written: bytes, compared: bytes) -> bool:
        return is_in(written, self.content) or is_in(compared, self.compared)


class Sought:
    """What is asked for."""

    def __init__(
        self, words: Sequence[str], written: str = "", rarity: Mapping[str, float] | None = None
    ) -> None:
        """`written` is the query as the user wrote it, without filters; by `rarity` a word counts
        more than another one.
        """
        self.words = tuple(words)
        counts = [1.0 if rarity is None else rarity[word] for word in words]
        self._shares = dict(zip(words, (one / (sum(counts) or 1.0) for one in counts), strict=True))
        pieces = written.split() or self.words
        self.pieces = [_piece(one, self.share(words_of(one))) for one in pieces]
        self.phrase = _piece(" ".join(pieces), 1.0)
        self.indexed = [_within(of_phrase(one)) for one in pieces]
        self.indexed_phrase = _within(of_phrase(" ".join(pieces)))

    def share(self, words: Collection[str]) -> float:
        """How much of what is asked for these words are."""
        return sum(self._shares.get(word, 0.0) for word in set(words))


def _piece(text: str, share: float) -> _Piece:
    compared = comparable(text) if text == text.lower() else ""
    return _Piece(text.encode("utf-8", "replace"), compared.encode(), share)


def _within(words: Sequence[str]) -> str:
    """Words as they are looked for in others."""
    return f" {' '.join(words)} "


class _Anchored(NamedTuple):
    """The parts of the score that the links of several sites are good for."""

    title: float = 0.0
    heading: float = 0.0
    phrase: float = 0.0


def agreement(sites: int) -> float:
    """How much words count that links of so many sites have: nothing for one, at most 1."""
    return (sites - 1) / (sites + 2) if sites else 0.0


def _anchored(sought: Sought, stored: StoredEntry) -> _Anchored:
    about = stored.about
    if len(set(about.anchor_sites)) < 2:  # noqa: PLR2004 - one site decides nothing
        return _Anchored()
    links = [
        (_within([anchor]), site)
        for anchor, site in zip(about.anchors, about.anchor_sites, strict=True)
    ]

    def said(piece: str) -> float:
        return agreement(len({site for text, site in links if piece in text}))

    pieces = zip(sought.pieces, sought.indexed, strict=True)
    return _Anchored(
        title=_title_of_links(sought, links),
        heading=sum(piece.share * said(text) for piece, text in pieces if text.strip()),
        phrase=said(sought.indexed_phrase) if sought.indexed_phrase.strip() else 0.0,
    )


def _title_of_links(sought: Sought, links: Sequence[tuple[str, int]]) -> float:
    """How much of what is asked for links say that say nothing else."""
    asked, by_share = set(sought.words), list[tuple[float, int]]()
    for text, site in links:
        words = set(text.split())
        if words <= asked:
            by_share.append((sought.share(words), site))
    return max(
        (
            share * agreement(len({site for other, site in by_share if other >= share}))
            for share, _ in by_share
        ),
        default=0.0,
    )


def judged(
    bm25: float, stored: StoredEntry, sought: Sought, relative: float, weights: RankingWeights
) -> Score:
    """The score of a page whose importance is `relative` to the average."""
    words, title = sought.words, stored.title_words
    found = {name: places(text, words) for name, text in stored.compared.items()}
    known = {words[number] for one in found.values() for _, number in one.hits}
    asked = _share(title, set(words))
    anchored = _anchored(sought, stored)
    names = _written(sought, stored.names, stored.compared_names)
    heading = max(names, anchored.heading)
    score = Score(
        bm25=bm25,
        share=_share(words, known) if len(words) > 1 else 1.0,
        title=max(sought.share(title) if asked == 1 else 0.0, anchored.title),
        exact=_share(words, set(title)) * asked,
        heading=heading,
        written=max(heading, _written(sought, stored.written, stored.compared["body"])),
        phrase=max(float(_has_phrase(sought, stored)), anchored.phrase),
        importance=importance_part(relative) / max(len(words), 1),
        proximity=_proximity(len(words), found),
        natural=min(_natural(found[name]) ** power for name, power in _PENALTY.items()),
        total=0.0,
    )
    return score._replace(total=_total(score, weights))


def _total(score: Score, weights: RankingWeights) -> float:
    return (
        score.bm25
        * float(score.share**weights.share)
        * (1 + weights.title * score.title)
        * (1 + weights.exact * score.exact)
        * (1 + weights.heading * score.heading)
        * (1 + weights.written * score.written)
        * (1 + weights.phrase * score.phrase)
        * (1 + weights.importance * score.importance)
        * (1 + weights.proximity * score.proximity)
        * score.natural
    )


def importance_part(relative: float) -> float:
    """The importance of a page on the scale of logarithms."""
    return min(1.0, log(1 + max(relative, 0.0)) / log(1 + _MOST_IMPORTANT))


def _share(words: Sequence[str], known: Collection[str]) -> float:
    return sum(word in known for word in words) / max(len(words), 1)


def _written(sought: Sought, written: bytes, compared: bytes) -> float:
    return sum(one.share for one in sought.pieces if one.is_in(written, compared))


def _has_phrase(sought: Sought, stored: StoredEntry) -> bool:
    if sought.phrase.is_in(stored.names, stored.compared_names):
        return True
    return sought.phrase.is_in(stored.written, stored.compared["body"])


def _natural(found: Places) -> float:
    """How much of a text whose words are repeated beyond measure counts."""
    most = max(found.counts, default=0)
    if most < _OFTEN[len(found.text) >= _LONG_TEXT]:
        return 1.0
    words = found.text.count(b" ") + found.text.count(b"\n") + 1
    return min(1.0, _MOST_NATURAL * words / most)


def _proximity(words: int, found: Mapping[str, Places]) -> float:
    """The mean over all neighbours in the query, each in the field that brings it most."""
    if words < 2:  # noqa: PLR2004 - one word has no neighbour
        return 0.0
    best = [0.0] * (words - 1)
    for name, factor in _FIELDS.items():
        near = grades(words, found[name])
        best = [max(known, factor * one) for known, one in zip(best, near, strict=True)]
    return sum(best) / (words - 1)
