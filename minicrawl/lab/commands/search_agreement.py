"""Agreement of a ranking with all judged searches, compared to the pages that users were shown.

Laws: both rankings are measured by the same verdicts. A page without a verdict has no gain, so
the number of unjudged pages in the first places is reported; a search without a good or fair page
has no measure.

gain    value of a verdict: good 3, fair 1, bad 0
nDCG    sum of gain / log2(place + 1) over the first 10 places, as a share of the maximum over all
        orders of the judged pages
first   place of the first good page; its reciprocal is 0 if there is none
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, log2
from typing import NamedTuple

from minicrawl.lab.commands.judgements import SHOWN, Judgement, Verdict
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse

GAINS = {Verdict.GOOD: 3.0, Verdict.FAIR: 1.0, Verdict.BAD: 0.0}
_SAME = 1e-9


class OrderMeasure(NamedTuple):
    """Quality of one order of pages."""

    ndcg: float | None
    first: int | None
    unjudged: int
    """Number of unjudged pages in the first places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSearch:
    """Judged search, with the quality of its results then and now."""

    query: str
    verdicts: int
    then: OrderMeasure
    now: OrderMeasure

    @property
    def change(self) -> float:
        """Change of nDCG since then; 0 if the search has no measure."""
        return (self.now.ndcg or 0.0) - (self.then.ndcg or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAgreement:
    """Comparison of an order with earlier results, over all judged searches."""

    searches: Sequence[JudgedSearch]

    @property
    def better(self) -> int:
        """Number of searches that are better now."""
        return sum(search.change > _SAME for search in self.searches)

    @property
    def worse(self) -> int:
        """Number of searches that are worse now."""
        return sum(search.change < -_SAME for search in self.searches)

    @property
    def by_chance(self) -> float:
        """Probability of at least this imbalance between better and worse by chance (sign test)."""
        changed, fewer = self.better + self.worse, min(self.better, self.worse)
        tail = sum(comb(changed, number) for number in range(fewer + 1))
        return float(min(1.0, 2 * tail / 2**changed))

    def mean_ndcg(self, *, now: bool) -> float | None:
        """Return the mean nDCG over the searches that have one."""
        values = [(search.now if now else search.then).ndcg for search in self.searches]
        return _mean([search for search in values if search is not None])

    def mean_reciprocal(self, *, now: bool) -> float | None:
        """Return the mean reciprocal rank over the searches that have an nDCG."""
        measures = [search.now if now else search.then for search in self.searches]
        return _mean(
            [
                1 / search.first if search.first else 0.0
                for search in measures
                if search.ndcg is not None
            ]
        )

    def to_json(self) -> dict[str, object]:
        return {
            "searches": self.searches,
            "ndcg": {"then": self.mean_ndcg(now=False), "now": self.mean_ndcg(now=True)},
            "mrr": {"then": self.mean_reciprocal(now=False), "now": self.mean_reciprocal(now=True)},
            "better": self.better,
            "worse": self.worse,
            "by_chance": self.by_chance,
        }


def compared(
    finder: Finder, judged: Iterable[Judgement], request: SearchRequest
) -> SearchAgreement:
    """Repeat the judged searches, and return the agreement."""
    searches = [
        JudgedSearch(
            query=judgement.query,
            verdicts=len(judgement.verdicts),
            then=measured(judgement.shown, judgement.verdicts),
            now=measured(first_places(finder, judgement.query, request), judgement.verdicts),
        )
        for judgement in judged
    ]
    return SearchAgreement(searches=searches)


def first_places(finder: Finder, query: str, request: SearchRequest) -> tuple[str, ...]:
    """Return the URLs of the first places."""
    return tuple(result.entry.url for result in finder.find(parse(query), request)[:SHOWN])


def measured(urls: Sequence[str], verdicts: Mapping[str, Verdict]) -> OrderMeasure:
    """Return the quality of this order of pages."""
    shown = [verdicts.get(url) for url in urls[:SHOWN]]
    best = _gathered(sorted((GAINS[grade] for grade in verdicts.values()), reverse=True))
    gain = _gathered([GAINS[grade] if grade else 0.0 for grade in shown])
    first = next((place for place, grade in enumerate(shown, 1) if grade is Verdict.GOOD), None)
    return OrderMeasure(gain / best if best else None, first, shown.count(None))


def _gathered(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains[:SHOWN], 1))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
