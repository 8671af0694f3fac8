"""Finds pages of a store by their text.

Laws: an index answers alone, even if store and archive are gone. The importance of pages is not in
the index but in an array beside it, so that new ranks change the order immediately, without
reindexing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.report.near_duplicates import (
    NEAR_DUPLICATES_FILE,
    NO_NEAR_DUPLICATES,
    kept_near_duplicates,
)
from minicrawl.search.entries import PageEntry, StoredEntry
from minicrawl.search.importance_file import IMPORTANCE, Floats, importance_in
from minicrawl.search.index import CANDIDATES, FOLDER, WITH_ALL, Counts, Hit, SearchIndex
from minicrawl.search.ranking import Forms, RankingWeights, Score, Sought, judged
from minicrawl.search.words import vocabulary, word_forms
from minicrawl.search.words.curation import curation, file_of
from minicrawl.search.words.query import Phrase, Query, parse, respelt
from minicrawl.search.words.snippets import Snippet, snippet
from minicrawl.web.words import spans, words_of
from minicrawl.wording import iso

MOST_ORDERED = 40_000
"""Maximum pages to order by a rank."""

_MOST_JOINED = 4
"""Adjacent words of a query that also stand for one word."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORDS_REMEMBERED = 1_000
"""Words whose other forms are remembered."""

MOST_LOOKED_AT = 1_000
"""Maximum candidates, if many are near-duplicates."""

_Found = tuple[StoredEntry, Score]
Scoring = Callable[[Query], Floats]
"""Function that returns the scores of all pages for a query."""


class Result(NamedTuple):
    entry: PageEntry
    importance: float
    """Share of all importance."""
    score: Score
    snippet: Snippet
    folded: int = 0
    """Number of near-duplicates that also match and rank lower."""
    is_pinned: bool = False
    """True if the file with synonyms and pins puts it first."""

    def document(self, rank: int) -> dict[str, object]:
        entry = self.entry
        return {
            "rank": rank,
            "url": entry.url,
            "title": entry.title,
            "snippet": self.snippet.text,
            "marks": self.snippet.marks,
            "importance": self.importance,
            "language": entry.language,
            "type": entry.type if entry.at is not None else None,
            "changed": None if entry.at is None else iso(entry.at),
            "fetched": entry.at is not None,
            "folded": self.folded,
            "pinned": self.is_pinned,
            "score": self.score._asdict(),
        }


class Answered(NamedTuple):
    """Answer to a query as a user typed it."""

    results: list[Result]
    instead: str = ""
    """Query that was answered instead, since no page has a word as typed; or ""."""
    suggestion: str = ""
    """Query that was probably meant, since few pages have a word as typed; or ""."""
    counts: Counts | None = None
    """Number of all pages that match, near-duplicates included; None if not requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    count: int = 10
    offset: int = 0
    folds: bool = True
    """Show only the best of near-duplicates, and count the others."""
    linear: float | None = None
    """Weight of relevance in the score; the rest is the rank."""
    weights: RankingWeights = field(default_factory=RankingWeights)
    counts: bool = False
    """Count all pages that match, for an answer."""


class Finder:
    """Answers queries from an index."""

    def __init__(self, folder: Path, scores: Floats | Scoring | None = None) -> None:
        """Open the index. `scores` orders results by a rank instead of relevance.

        It may be a function of the query.
        """
        self._index = SearchIndex(folder / FOLDER)
        self._importance = importance_in(folder)
        self._scores = scores
        self._alike = kept_near_duplicates(folder) or NO_NEAR_DUPLICATES
        self._modified = _modified_ns(folder)
        self._synonyms, self._pins = curation(folder)
        self._forms = lru_cache(_WORDS_REMEMBERED)(partial(word_forms.forms, words=self._index))

    def __len__(self) -> int:
        return len(self._index)

    @property
    def at(self) -> float:
        """Time of the index's last change, in seconds since 1970."""
        return max(self._modified) / 1e9

    def is_old(self, folder: Path) -> bool:
        """Return True if the index or a file beside it has changed since it was opened."""
        return _modified_ns(folder) != self._modified

    def answer(self, text: str, request: SearchRequest) -> Answered:
        """Return the best pages for a query as it was typed, or as it was probably meant.

        A query with pins was meant as it was typed.
        """
        meant = more_usual = text
        if not self._pinned(parse(text)):
            meant = respelt(text, self._meant)
            more_usual = respelt(
                meant,
                lambda words: [vocabulary.more_usual(word, self._index) or word for word in words],
            )
        query = parse(meant)
        return Answered(
            self.find(query, request),
            instead=meant if meant != text else "",
            suggestion=more_usual if more_usual != meant else "",
            counts=self._index.counts(self._with_synonyms(query)) if request.counts else None,
        )

    def all_pages(self) -> Iterator[tuple[PageEntry, float]]:
        """Yield each page that was read, with its importance relative to the average."""
        for stored in self._index.read_pages():
            yield stored.entry, float(_value_of(self._importance, stored.about.page))

    def completions(self, text: str, count: int) -> list[str]:
        """Return the query with its last word completed from pages that match the other words."""
        words = list(spans(text))
        if not words or words[-1].end != len(text) or len(words[-1].words) != 1:
            return []
        before, (last,) = text[: words[-1].begin], words[-1].words
        try:
            among = parse(before) if before.strip() else None
        except UsageError:  # such as a minus alone
            among = None
        words_counted = self._index.words_from(last, count, among=among)
        return [f"{before}{word}" for word, _ in words_counted]

    def newest(self, text: str, count: int) -> list[Result]:
        """Return the pages read that have all words of a query, the latest changed first."""
        query = parse(text)
        sought, request = self._sought(query), SearchRequest()
        hits = self._index.newest(query, count)
        judged = (self._judged(hit, sought, request) for hit in hits)
        return [self._result(stored.entry, score, query, 0) for stored, score in judged]

    @property
    def only_host(self) -> str:
        """Host of all pages, or "" if there are several."""
        return self._index.only_host

    def _meant(self, phrase: Phrase) -> Sequence[str]:
        """Return what was probably meant by words that were written as one, or by a single word."""
        words = vocabulary.nearest_phrase(phrase, self._index)
        return [
            word
            if " " in word or self._index.pages_with(word) or word in self._synonyms
            else vocabulary.nearest(word, self._index) or word
            for word in words
        ]

    def find(self, query: Query, request: SearchRequest) -> list[Result]:
        query, end = self._with_synonyms(query), request.offset + request.count
        results = self._folded(query, request)
        hits = [hit for hit in map(self._index.at_url, self._pinned(query)) if hit is not None]
        sought = self._sought(query) if hits else Sought(())
        pinned = [(self._judged(hit, sought, request), 0) for hit in hits]
        if pinned:
            pages = {stored.about.page for (stored, _), _ in pinned}
            results = pinned + [
                result for result in results if result[0][0].about.page not in pages
            ]
        return [
            self._result(stored.entry, score, query, folded, is_pinned=place < len(pinned))
            for place, ((stored, score), folded) in enumerate(results[:end])
            if place >= request.offset
        ]

    def _pinned(self, query: Query) -> Sequence[str]:
        return self._pins.get(" ".join(query.words), ()) if query.is_plain else ()

    def _result(
        self, entry: PageEntry, score: Score, query: Query, folded: int, *, is_pinned: bool = False
    ) -> Result:
        language = entry.language.partition("-")[0].lower()
        forms = chain.from_iterable(self._forms_in(query, language))
        words = set(query.sought).union(*map(str.split, forms))
        text = "\n".join(filter(None, (entry.body, entry.repeated))) or "\n".join(entry.anchors)
        shown = snippet(text, words)
        share = _value_of(self._importance, entry.page) / max(len(self._importance), 1)
        return Result(entry, share, score, shown, folded, is_pinned)

    def _with_synonyms(self, query: Query) -> Query:
        """Return the query with synonyms of its words.

        Adjacent words also stand for one without signs between them, such as `getElementById`.
        """
        known, words = self._synonyms, query.words
        synonyms_of = {word: list(known.get(word, ())) for word in words}
        for word in words:
            longer_words = word_forms.more_usual_longer(word, self._index)
            synonyms_of[word] += ((longer,) for longer in longer_words)
        for number in range(2, min(_MOST_JOINED, len(words)) + 1):
            for run in zip(*(words[start:] for start in range(number)), strict=False):
                if self._index.pages_with(joined := "".join(run)):
                    for word in run:
                        synonyms_of[word].append((joined,))
        for written in query.written.split():
            whole, parts = words_of(written), tuple(words_of(_HUMP.sub(" ", written)))
            if len(whole) == 1 < len(parts) and whole[0] in synonyms_of:
                synonyms_of[whole[0]].append(parts)
        synonyms = {word: tuple(phrases) for word, phrases in synonyms_of.items() if phrases}
        return replace(query, synonyms=synonyms)

    def _sought(self, query: Query) -> Sought:
        forms = {
            language: self._forms_in(query, language) for language in ("", *self._index.languages)
        }
        rarity = self._index.rarity(query.sought)
        is_stop_word = partial(word_forms.is_stop_word, languages=self._index.languages)
        stop_words = frozenset(filter(is_stop_word, query.sought))
        return Sought(query.sought, query.written, rarity, forms, stop_words)

    def _forms_in(self, query: Query, language: str) -> Forms:
        """Return other forms of the query's words in this language, and their synonyms."""
        return [
            (*self._forms(word, language), *map(" ".join, query.synonyms.get(word, ())))
            for word in query.sought
        ]

    def _folded(self, query: Query, request: SearchRequest) -> list[tuple[_Found, int]]:
        """Return the results, with the number of near-duplicates folded behind each.

        More candidates are examined if many of the best are near-duplicates.
        """
        end = request.offset + request.count
        looked_at = max(-(-end // WITH_ALL), 1) * WITH_ALL
        while True:
            results = self._ordered(query, request, looked_at)
            if not request.folds:
                return [(result, 0) for result in results]
            groups = self._groups([stored.about.page for stored, _ in results])
            if len(groups) >= end or len(results) < looked_at or looked_at >= MOST_LOOKED_AT:
                return [(results[first], folded) for first, folded in groups]
            # Starting with many candidates would slow down all searches, for the few whose best
            # pages are near-duplicates.
            looked_at *= 4

    def _groups(self, pages: Sequence[int]) -> list[tuple[int, int]]:
        """Return the index of each group's first page, in order, and the number of others."""
        originals = self._alike.originals_of(np.array(pages, np.int64)).tolist()
        groups = [
            page if original < 0 else original
            for page, original in zip(pages, originals, strict=True)
        ]
        sizes = Counter(groups)
        firsts = {group: place for place, group in reversed(list(enumerate(groups)))}
        ordered = sorted(firsts.items(), key=itemgetter(1))
        return [(place, sizes[group] - 1) for group, place in ordered]

    def _ordered(self, query: Query, request: SearchRequest, count: int) -> list[_Found]:
        sought = self._sought(query)
        if not query.sought or (self._scores is not None and request.linear is None):
            hits = self._index.matches(query, MOST_ORDERED)
            scores = self._rank(query)
            best = sorted(hits, key=lambda hit: (-_value_of(scores, hit.page), hit.page))[:count]
            return [self._judged(hit, sought, request) for hit in best]
        results = self._by_relevance(query, sought, request, count)
        if request.linear is not None:
            return sorted(_mixed_with_rank(results, self._rank(query), request.linear), key=_place)
        return results

    def _by_relevance(
        self, query: Query, sought: Sought, request: SearchRequest, count: int
    ) -> list[_Found]:
        """Return at least `count` pages, if there are as many. With more, the first ones stay.

        Pages are ordered in blocks. Those that lack words are candidates of the first block: the
        ones that come after its last page with all words come after all of these pages.
        """
        hits, lacking = self._index.best(query, request.weights.fields, count + 1)
        with_all = {hit.page for hit in hits}

        def ordered(*chosen: Hit) -> list[_Found]:
            scored = (
                self._judged(hit, sought, request, has_all=hit.page in with_all) for hit in chosen
            )
            return sorted(scored, key=_place)

        first = CANDIDATES - len(hits[:WITH_ALL])
        results = ordered(*hits[:WITH_ALL], *lacking[:first])
        places = [place for place, (row, _) in enumerate(results, 1) if row.about.page in with_all]
        end = places[-1] if places else 0
        results, last = results[:end], results[end:]
        for at in range(WITH_ALL, count, WITH_ALL):
            results += ordered(*hits[at : min(at + WITH_ALL, count)])
        if len(hits) > count:
            return results
        results += last
        for at in range(first, first + count // WITH_ALL * CANDIDATES - CANDIDATES, CANDIDATES):
            results += ordered(*lacking[at : at + CANDIDATES])
        return results

    def _judged(
        self, hit: Hit, sought: Sought, request: SearchRequest, *, has_all: bool = False
    ) -> _Found:
        stored = self._index.stored(hit.address)
        relative = float(_value_of(self._importance, hit.page))
        score = judged(hit.score, stored, sought, relative, request.weights, has_all=has_all)
        return stored, score

    def _rank(self, query: Query) -> Floats:
        """Return the rank that orders pages besides, or instead of, relevance."""
        if self._scores is None:
            return self._importance
        return self._scores(query) if callable(self._scores) else self._scores


def _place(result: _Found) -> tuple[float, float, int]:
    """Return the sort key of a result: the best one first, and the older one among equals."""
    stored, score = result
    return -score.complete, -score.total, stored.about.page


def _mixed_with_rank(results: Sequence[_Found], ranks: Floats, part: float) -> list[_Found]:
    """Return the scores as a weighted sum of relevance and rank, both scaled to at most 1."""
    scores = [_value_of(ranks, stored.about.page) for stored, _ in results]
    most, highest = max((score.total for _, score in results), default=1.0), max(scores, default=0)
    return [
        (
            stored,
            score._replace(total=part * score.total / most + (1 - part) * rank / (highest or 1)),
        )
        for (stored, score), rank in zip(results, scores, strict=True)
    ]


def _modified_ns(folder: Path) -> list[int]:
    """Return the modification times of the files that answers depend on; 0 for missing files."""
    beside = (IMPORTANCE, NEAR_DUPLICATES_FILE)
    files = (folder / FOLDER / "meta.json", *(folder / name for name in beside), file_of(folder))
    return [file.stat().st_mtime_ns if file.exists() else 0 for file in files]


def _value_of(values: Floats, page: int) -> float:
    """Return the value of a page; 0 if it is NaN, or if the page is newer than the values."""
    value = float(values[page]) if page < len(values) else 0.0
    return value if value == value else 0.0  # noqa: PLR0124 - NaN differs from itself
