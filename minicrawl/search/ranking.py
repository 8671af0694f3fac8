"""Ranking: re-scores the best pages by BM25.

Laws: the score of a page is its BM25 score times one factor for each part below; a part is between
0 and 1, and its factor is 1 + weight x part. Importance decides between equals, and never lifts a
page that hardly matches the query. A rare word makes up more of the query than a common one.

A page that lacks a word of the query comes after all complete pages, whatever their scores. For
example, "bill clinton" finds no page on another bill before one with both words, however far apart.

complete     1 if the page has all words in any form, apart from stop words; words of three or more
             are near each other, or in title, headings, URL or anchors
share        of the query that the page has anywhere; a factor of its own, to a power
title        share of the query in the title, if the title says nothing else
exact        share of the words in the title, times the share of the title that is in the query
heading      share of the query in the title or a heading, as written
written      share of the query in the whole page, as written
phrase       1 if the page has the whole query as written, in one piece
importance   of the page relative to the average, on a logarithmic scale; divided by the number of
             query words
proximity    how near neighbouring query words are to each other, and in which field
natural      1, or less if a query word makes up more of the text than in natural writing

A page is scored twice if the words of the query have other forms, such as plurals, or synonyms: by
the words alone, and with the other forms counted as well. The second score is multiplied by `form`,
and the better one counts, so an exact form comes before another form.

As written means with punctuation, such as `trim()`, `--all` or `__init__`. Case counts if the query
has capitals.

Anchor texts are as good as a title, a heading or the text, if many sites agree: they contribute to
`title`, `heading`, `written` and `phrase`, scaled by `agreement` of the number of sites. A single
site decides nothing, however often it repeats itself. For example, if links from 25 sites to a page
without the words say "bill clinton", its phrase part is 0.89.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf, log
from typing import NamedTuple

from minicrawl.search.entries import StoredEntry
from minicrawl.search.index_queries import FieldWeights
from minicrawl.search.words.word_places import Places, distances, grades, is_in, places, with_forms
from minicrawl.web.words import comparable, of_phrase, words_of

_FIELDS = {"title": 1.0, "anchor": 0.8, "headings": 0.7, "body": 0.5}
_REACHES = {0: inf, 3: 650, 5: 100}
"""Distance in words beyond which a page has neighbours of a query by chance, by the least number of
words in the query: long pages have all words of a long question somewhere.
"""
_BEFORE_NAME, _BEHIND_NAME = "([{\"'`\u201c\u2018", ",.;:!?\"'`\u201d\u2019"
"""Signs around a name that belong to the sentence."""
_MOST_IMPORTANT = 300.0
"""Importance relative to the average beyond which it makes no difference."""
_MOST_NATURAL = 0.15
"""Maximum share of one word in natural text."""
_PENALTY = {"title": 3, "body": 2}
"""Power of the penalty by field: a word in a title counts in several parts."""
_OFTEN = {False: 5, True: 25}
"""Repetitions of a word that trigger the check, in short texts such as titles and in long ones."""
_LONG_TEXT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """Weight of each part of the score."""

    fields: FieldWeights = field(default_factory=FieldWeights)
    share: float = 3.0
    title: float = 3.0
    exact: float = 0.375
    heading: float = 8.0
    written: float = 3.0
    phrase: float = 2.0
    importance: float = 2.5
    proximity: float = 6.0
    form: float = 0.7


Forms = Sequence[Sequence[str]]
"""Other forms of each word of a query, in the order of the words."""


class Score(NamedTuple):
    """Score of a page for a query, with its parts."""

    complete: float
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
    """Part of the query, as written."""

    content: bytes
    compared: bytes
    """Normalized piece; empty if it has capitals, since case counts then."""
    share: float
    """Share of the whole query."""

    def is_in(self, written: bytes, compared: bytes) -> bool:
        return is_in(written, self.content) or is_in(compared, self.compared)


class Sought:
    """Query, prepared for scoring."""

    def __init__(
        self,
        words: Sequence[str],
        written: str = "",
        rarity: Mapping[str, float] | None = None,
        forms: Mapping[str, Forms] | None = None,
        stop_words: Collection[str] = (),
    ) -> None:
        """Prepare a query. `written` is the user's text without filters.

        Words count in proportion to `rarity`, or equally. `forms` has the other forms of each word
        by language; those of "" are for pages in other languages. A complete page may lack
        `stop_words`, unless the query has no others.
        """
        self._forms = forms or {}
        self.words = tuple(words)
        numbers = range(len(self.words))
        needed = [number for number in numbers if self.words[number] not in stop_words]
        self.needed = frozenset(needed or numbers)
        """Places of the words that a complete page has."""
        counts = [1.0 if rarity is None else rarity[word] for word in words]
        self._shares = dict(
            zip(words, (piece / (sum(counts) or 1.0) for piece in counts), strict=True)
        )
        pieces = list(map(_name, written.split())) or self.words
        self.pieces = [_piece(piece, self.share(words_of(piece))) for piece in pieces]
        self.phrase = _piece(_name(written) or " ".join(pieces), 1.0)
        self.indexed = [_within(of_phrase(piece)) for piece in pieces]
        self.indexed_phrase = _within(of_phrase(" ".join(pieces)))

    def forms(self, language: str) -> Forms:
        """Return the other forms of each word on a page in this language."""
        return self._forms.get(language.partition("-")[0].lower()) or self._forms.get("", ())

    def share(self, words: Collection[str]) -> float:
        return sum(share for word, share in self._shares.items() if word in words)


def _name(piece: str) -> str:
    """Return a piece without the signs of a sentence: `trim(` for `(trim(),`.

    The page that defines a function writes its parameters: `trim(text)`.
    """
    name = piece.lstrip(_BEFORE_NAME).rstrip(_BEHIND_NAME) or piece
    if name.count(")") > name.count("("):
        name = name.rstrip(")") or piece
    return name.removesuffix(")") if name.endswith("()") else name


def _piece(text: str, share: float) -> _Piece:
    compared = comparable(text) if text == text.lower() else ""
    return _Piece(text.encode("utf-8", "replace"), compared.encode(), share)


def _within(words: Sequence[str]) -> str:
    """Return words with spaces around them, for substring search."""
    return f" {' '.join(words)} "


def agreement(sites: int) -> float:
    """Return the weight of an anchor text on this many sites: 0 for one, below 1 for many."""
    return (sites - 1) / (sites + 2) if sites else 0.0


def _anchored(sought: Sought, stored: StoredEntry) -> tuple[float, float, float]:
    """Return the parts `title`, `heading` and `phrase` that anchor texts contribute."""
    about = stored.about
    if len(set(about.anchor_sites)) < 2:  # noqa: PLR2004 - one site decides nothing
        return 0.0, 0.0, 0.0
    links = [
        (_within([anchor]), site)
        for anchor, site in zip(about.anchors, about.anchor_sites, strict=True)
    ]

    def agreement_on(piece: str) -> float:
        return agreement(len({site for text, site in links if piece in text}))

    # Of a title, as of a page's own, only texts that say nothing else count.
    query_words, by_share = set(sought.words), list[tuple[float, int]]()
    for text, site in links:
        words = set(text.split())
        if words <= query_words:
            by_share.append((sought.share(words), site))
    agreed = (
        share * agreement(len({site for other, site in by_share if other >= share}))
        for share, _ in by_share
    )
    pieces = zip(sought.pieces, sought.indexed, strict=True)
    heading = sum(piece.share * agreement_on(text) for piece, text in pieces if text.strip())
    phrase = agreement_on(sought.indexed_phrase) if sought.indexed_phrase.strip() else 0.0
    return max(agreed, default=0.0), heading, phrase


def judged(
    bm25: float,
    stored: StoredEntry,
    sought: Sought,
    relative: float,
    weights: RankingWeights,
    *,
    has_all: bool = False,
) -> Score:
    """Return the score of a page whose importance is `relative` to the average.

    `has_all` says that the page has all words, even if they are far down, where nobody looks.
    """
    words, title = sought.words, stored.title_words
    by_field = {name: places(text, words) for name, text in stored.compared.items()}
    anchored_title, anchored_heading, anchored_phrase = _anchored(sought, stored)
    names = _written(sought, stored.names, stored.compared_names)
    heading = max(names, anchored_heading)
    of_query, exact = _of_title(sought, title)
    phrase = sought.phrase.is_in(stored.names, stored.compared_names) or sought.phrase.is_in(
        stored.written, stored.compared["body"]
    )
    score = Score(
        complete=0.0,
        bm25=bm25,
        share=_share_of(sought, by_field),
        title=max(of_query, anchored_title),
        exact=exact,
        heading=heading,
        written=max(heading, _written(sought, stored.written, stored.compared["body"])),
        phrase=max(float(phrase), anchored_phrase),
        importance=importance_part(relative) / max(len(words), 1),
        proximity=_proximity(len(words), by_field),
        natural=min(_natural(by_field[name]) ** power for name, power in _PENALTY.items()),
        total=0.0,
    )
    score = score._replace(total=_total(score, weights))
    forms = sought.forms(stored.about.language)
    if any(forms):
        by_field = {name: with_forms(places, forms) for name, places in by_field.items()}
        loose = _loosened(score, stored, sought, by_field, forms)
        loose = loose._replace(total=weights.form * _total(loose, weights))
        score = max(score, loose, key=lambda other: other.total)
    return score._replace(complete=float(_is_complete(sought, by_field, has_all=has_all)))


def _is_complete(sought: Sought, by_field: Mapping[str, Places], *, has_all: bool) -> bool:
    needed = sought.needed
    has = {number for places in by_field.values() for _, number in places.hits}
    if not (has_all or needed <= has):
        return False
    reach = next(reach for least, reach in reversed(_REACHES.items()) if len(needed) >= least)
    if reach == inf:
        return True
    named = {
        number for name, places in by_field.items() if name != "body" for _, number in places.hits
    }
    body = distances(len(sought.words), by_field["body"])
    return all(
        (distance is not None and distance <= reach) or not named.isdisjoint((first, first + 1))
        for first, distance in enumerate(body)
        if needed.issuperset((first, first + 1))
    )


def _loosened(
    score: Score, stored: StoredEntry, sought: Sought, by_field: Mapping[str, Places], forms: Forms
) -> Score:
    """Return the parts of the score for `by_field`, where other forms count as the words."""
    words = sought.words
    meant = defaultdict[str, list[str]](list)  # a form may stand for two words written as one
    for word, variants in zip(words, forms, strict=True):
        for form in variants:
            meant[form].append(word)
    title = list(chain.from_iterable(meant.get(word, [word]) for word in stored.title_words))
    of_query, exact = _of_title(sought, title)
    return score._replace(
        share=_share_of(sought, by_field),
        title=max(score.title, of_query),
        exact=max(score.exact, exact),
        proximity=_proximity(len(words), by_field),
    )


def _share_of(sought: Sought, by_field: Mapping[str, Places]) -> float:
    """Return the share of the query that a page has; 1 if it is a single word."""
    words = sought.words
    has = {words[number] for places in by_field.values() for _, number in places.hits}
    return sought.share(has) if len(words) > 1 else 1.0


def _of_title(sought: Sought, title: Sequence[str]) -> tuple[float, float]:
    """Return the parts `title` and `exact` of a title of these words."""
    of_query = _share(title, set(sought.words))
    is_all = of_query == 1
    return sought.share(title) if is_all else 0.0, _share(sought.words, set(title)) * of_query


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
    """Return the importance of a page on a logarithmic scale, from 0 to 1."""
    return min(1.0, log(1 + max(relative, 0.0)) / log(1 + _MOST_IMPORTANT))


def _share(words: Sequence[str], known: Collection[str]) -> float:
    return sum(word in known for word in words) / max(len(words), 1)


def _written(sought: Sought, written: bytes, compared: bytes) -> float:
    return sum(piece.share for piece in sought.pieces if piece.is_in(written, compared))


def _natural(word_places: Places) -> float:
    """Return the factor for natural text; less than 1 if a query word is repeated excessively."""
    most = max(word_places.counts, default=0)
    if most < _OFTEN[len(word_places.text) >= _LONG_TEXT]:
        return 1.0
    words = word_places.text.count(b" ") + word_places.text.count(b"\n") + 1
    return min(1.0, _MOST_NATURAL * words / most)


def _proximity(words: int, by_field: Mapping[str, Places]) -> float:
    """Return the mean proximity of neighbouring query words, each in its best field."""
    if words < 2:  # noqa: PLR2004 - one word has no neighbour
        return 0.0
    best = [0.0] * (words - 1)
    for name, factor in _FIELDS.items():
        near = grades(words, by_field[name])
        best = [max(known, factor * grade) for known, grade in zip(best, near, strict=True)]
    return sum(best) / (words - 1)
