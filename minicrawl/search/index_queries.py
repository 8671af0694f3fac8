"""Queries of the index: a parsed query in the words of Tantivy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicrawl.search.words.query import Phrase, Query
from minicrawl.search.words.word_forms import stems
from minicrawl.web.words import is_single_sign

if TYPE_CHECKING:
    import tantivy


TEXTS = ("title", "anchor", "url", "headings", "body", "repeated")
FILTERS = {"title": "whole_title", "url": "url"}
"""Fields of filters: `title:` also finds the parts that all titles of a site share."""
STEMS = "stems"
"""Field with the stems of all words of title, headings and text, each once."""
WHERE_WORDS_ARE = ("title", "anchor", "body", "repeated")
"""Fields that together have nearly all words of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldWeights:
    """Weight of a word, by field."""

    title: float = 2.0
    anchor: float = 1.0
    url: float = 0.5
    headings: float = 0.25
    body: float = 1.0
    repeated: float = 0.1
    compound: float = 2.0
    """Extra weight of words that the user wrote as one, if the page has them adjacent."""
    form: float = 0.2
    """Another form of the word, or a synonym."""

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return ((name, getattr(self, name)) for name in TEXTS)


class IndexQueries:
    """Builder of Tantivy queries from words."""

    def __init__(
        self, schema: tantivy.Schema, weights: FieldWeights, languages: Sequence[str]
    ) -> None:
        self._schema, self._weights, self._languages = schema, weights, languages
        self._synonyms: Mapping[str, Sequence[Phrase]] = {}

    def built(self, query: Query, least: int | None = None) -> tantivy.Query:
        """Return the Tantivy query for pages with at least `least` of the words, or with all."""
        import tantivy

        must, should = tantivy.Occur.Must, tantivy.Occur.Should
        self._synonyms = query.synonyms
        words = [self._word(word) for word in query.words]
        if least is None or least >= len(words):
            parts = [(must, word) for word in words]
        else:
            enough = tantivy.Query.boolean_query([(should, word) for word in words], least)
            parts = [(must, enough)]
        parts += [
            (should, tantivy.Query.boost_query(self.phrase(part), self._weights.compound))
            for part in query.compounds
        ]
        parts += [(must, self.phrase(phrase)) for phrase in query.phrases]
        parts += [(must, self._in_field(FILTERS[name], phrase)) for name, phrase in query.within]
        parts += [(must, part) for part in self._filters(query)]
        if not parts:
            parts = [(must, tantivy.Query.all_query())]
        without = (
            *map(self.phrase, query.without),
            *(self._in_field(FILTERS[name], phrase) for name, phrase in query.not_within),
            *(self._term("site", site) for site in query.not_sites),
            *(self._term("language", language) for language in query.not_languages),
            *(self._term("type", name) for name in query.not_types),
        )
        parts += [(tantivy.Occur.MustNot, part) for part in without]
        return tantivy.Query.boolean_query(parts)

    def _filters(self, query: Query) -> Iterator[tantivy.Query]:
        import tantivy

        conditions: Sequence[tuple[str, Sequence[str | int]]] = (
            ("site", query.sites),
            ("language", query.languages),
            ("type", query.types),
            ("year", query.years),
        )
        for name, values in conditions:
            if values:
                any_of = [tantivy.Query.term_query(self._schema, name, value) for value in values]
                either = tantivy.Query.boolean_query(
                    [(tantivy.Occur.Should, choice) for choice in any_of]
                )
                yield tantivy.Query.const_score_query(either, 0.0)
        if query.after is not None:
            since = tantivy.Query.range_query(
                self._schema, "at", tantivy.FieldType.Integer, lower_bound=int(query.after)
            )
            yield tantivy.Query.const_score_query(since, 0.0)

    def _word(self, word: str) -> tantivy.Query:
        """Return a query for a word in any field, or another form or a synonym of it."""
        exact = [(self._term(name, word), weight) for name, weight in self._weights]
        stemmed = {stem for language in self._languages for stem in stems([word], language)}
        forms = [self._term(STEMS, stem) for stem in sorted(stemmed)]
        forms += [self.phrase(phrase) for phrase in self._synonyms.get(word, ())]
        return self._anywhere(exact + [(language, self._weights.form) for language in forms])

    def phrase(self, phrase: Sequence[str]) -> tantivy.Query:
        """Return the query for pages with these words side by side in a field."""
        return self._anywhere(
            [(self._in_field(name, phrase), weight) for name, weight in self._weights]
        )

    def _in_field(self, name: str, phrase: Sequence[str]) -> tantivy.Query:
        if len(phrase) == 1:
            return self._term(name, phrase[0])
        import tantivy

        return tantivy.Query.phrase_query(self._schema, name, list(phrase))

    def _term(self, name: str, word: str) -> tantivy.Query:
        import tantivy

        query = tantivy.Query
        if is_single_sign(word):  # also matches the pairs that begin with it
            return query.regex_query(self._schema, name, f"{re.escape(word)}.?")
        return query.term_query(self._schema, name, word)

    def _anywhere(self, weighted: Sequence[tuple[tantivy.Query, float]]) -> tantivy.Query:
        import tantivy

        boosted = (tantivy.Query.boost_query(query, weight) for query, weight in weighted)
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, clause) for clause in boosted])
