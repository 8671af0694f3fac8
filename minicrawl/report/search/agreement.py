"""How a ranking does on all searches that users judged, beside what they were shown.

Laws: both rankings are measured by the same verdicts. A page without a verdict brings nothing, so
how many of the first places have none is told; a search without a page that is good or fair has no
measure.

gain    what a verdict is worth: good 3, fair 1, bad 0
nDCG    the sum of gain / log2(place + 1) over the first 10 places, as a share of the best one that
        any order of the judged pages has
first   the place of the first good page; its reciprocal is 0 where there is none
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, log2
from typing import NamedTuple

from minicrawl.report.search.judgements import SHOWN, Judgement, Verdict
from minicrawl.report.search.searching import Finder, SearchRequest
from minicrawl.search.query import parse

GAINS = {Verdict.GOOD: 3.0, Verdict.FAIR: 1.0, Verdict.BAD: 0.0}
_SAME = 1e-9


class OrderMeasure(NamedTuple):
    """How well one order of pages does."""

    ndcg: float | None
    first: int | None
    unjudged: int
    """Of the first places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSearch:
    """A search that was judged, as it was then and as it is now."""

    query: str
    verdicts: int
    then: OrderMeasure
    now: OrderMeasure

    @property
    def change(self) -> float:
        """How much better it is now; 0 where nothing was good."""
        return (self.now.ndcg or 0.0) - (self.then.ndcg or 0.0)

    def as_json(self) -> dict[str, object]:
        """The search as a JSON document."""
        return {
            "query": self.query,
            "verdicts": self.verdicts,
            "then": self.then._asdict(),
            "now": self.now._asdict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAgreement:
    """All searches that were judged."""

    searches: Sequence[JudgedSearch]

    @property
    def better(self) -> int:
        """Searches that are better now."""
        return sum(one.change > _SAME for one in self.searches)

    @property
    def worse(self) -> int:
        """Searches that are worse now."""
        return sum(one.change < -_SAME for one in self.searches)

    @property
    def by_chance(self) -> float:
        """How likely chance alone parts better and worse at least so much: a sign test."""
        changed, fewer = self.better + self.worse, min(self.better, self.worse)
        tail = sum(comb(changed, number) for number in range(fewer + 1))
        return float(min(1.0, 2 * tail / 2**changed))

    def mean_ndcg(self, *, now: bool) -> float | None:
        """The mean over the searches that have one."""
        found = [(one.now if now else one.then).ndcg for one in self.searches]
        return _mean([one for one in found if one is not None])

    def mean_reciprocal(self, *, now: bool) -> float | None:
        """The mean of 1 / first."""
        found = [one.now if now else one.then for one in self.searches]
        return _mean([1 / one.first if one.first else 0.0 for one in found if one.ndcg is not None])

    def as_json(self) -> dict[str, object]:
        """The agreement as a JSON document."""
        return {
            "searches": [one.as_json() for one in self.searches],
            "ndcg": {"then": self.mean_ndcg(now=False), "now": self.mean_ndcg(now=True)},
            "mrr": {"then": self.mean_reciprocal(now=False), "now": self.mean_reciprocal(now=True)},
            "better": self.better,
            "worse": self.worse,
            "by_chance": self.by_chance,
        }


def compared(finder: Finder, judged: Iterable[Judgement], asked: SearchRequest) -> SearchAgreement:
    """All these searches, asked again."""
    return SearchAgreement(searches=[_compared(finder, one, asked) for one in judged])


def first_places(finder: Finder, query: str, asked: SearchRequest) -> tuple[str, ...]:
    """The URLs of the first places."""
    return tuple(one.entry.url for one in finder.find(parse(query), asked)[:SHOWN])


def _compared(finder: Finder, judged: Judgement, asked: SearchRequest) -> JudgedSearch:
    return JudgedSearch(
        query=judged.query,
        verdicts=len(judged.verdicts),
        then=measured(judged.shown, judged.verdicts),
        now=measured(first_places(finder, judged.query, asked), judged.verdicts),
    )


def measured(urls: Sequence[str], verdicts: Mapping[str, Verdict]) -> OrderMeasure:
    """How well this order of pages does."""
    shown = [verdicts.get(url) for url in urls[:SHOWN]]
    best = _gathered(sorted((GAINS[one] for one in verdicts.values()), reverse=True))
    found = _gathered([GAINS[one] if one else 0.0 for one in shown])
    first = next((place for place, one in enumerate(shown, 1) if one is Verdict.GOOD), None)
    return OrderMeasure(found / best if best else None, first, shown.count(None))


def _gathered(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains[:SHOWN], 1))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
