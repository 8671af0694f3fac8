"""Users' relevance judgements of search results, kept beside the store, not in the index.

Laws: verdicts refer to words and URLs, so that they apply to every index and every ranking. The
file is append-only; of two verdicts on a page the later one counts. A line cut off by a crash does
not count, and the next writer removes it.

verdict    good, fair or bad: a user's opinion of a page that was shown for a query
judgement  the verdicts on the pages of one query in one session, and what was shown, in order
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import comb, log2
from pathlib import Path
from typing import IO, NamedTuple

from minicrawl.errors import StoreError
from minicrawl.search.query import parse
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.store.reader import JUDGED, file_beside
from minicrawl.wording import iso

SHOWN = 10
"""Places of a ranking that are stored and compared."""


class Verdict(StrEnum):
    """User's opinion of a page."""

    GOOD = "good"
    FAIR = "fair"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Judgement of the pages of one query."""

    query: str
    verdicts: Mapping[str, Verdict]
    """Verdicts by URL."""
    shown: tuple[str, ...] = ()
    """URLs of the first places when the user judged."""

    def followed_by(self, later: Judgement) -> Judgement:
        """Return both judgements merged; the later one takes precedence."""
        verdicts = {**self.verdicts, **later.verdicts}
        return Judgement(query=self.query, verdicts=verdicts, shown=later.shown or self.shown)


def plain(query: str) -> str:
    """Return the normalized query, under which its verdicts are stored."""
    return " ".join(query.split())


def file_of(store: Path) -> Path:
    """Return the file with the judgements of a store."""
    return file_beside(store, JUDGED)


def keep(store: Path, judgements: Iterable[Judgement], at: float) -> None:
    """Append judgements, and sync them to disk."""
    lines = b"".join(_line(one, at) for one in judgements if one.verdicts)
    with file_of(store).open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(_end_of_lines(file))
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def kept(store: Path) -> dict[str, Judgement]:
    """Return all judgements by query, in the order of the first judgement."""
    file, found = file_of(store), dict[str, Judgement]()
    if not file.is_file():
        return found
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.endswith(b"\n"):
                one = _judgement(line, f"{file}, line {number}")
                before = found.get(one.query)
                found[one.query] = before.followed_by(one) if before else one
    return found


def _line(judgement: Judgement, at: float) -> bytes:
    said = {
        "query": plain(judgement.query),
        "verdicts": dict(judgement.verdicts),
        "shown": judgement.shown[:SHOWN],
        "at": iso(at),
    }
    return json.dumps(said).encode() + b"\n"


def _judgement(line: bytes, place: str) -> Judgement:
    try:
        said = json.loads(line)
        verdicts = {str(url): Verdict(one) for url, one in said["verdicts"].items()}
        shown = tuple(map(str, said["shown"]))
        return Judgement(query=plain(said["query"]), verdicts=verdicts, shown=shown)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{place} is no judgement of a search: mend or remove it") from error


def _end_of_lines(file: IO[bytes]) -> int:
    """Return the end of the last complete line."""
    file.seek(0)
    return file.read().rfind(b"\n") + 1


# ================================================================ agreement
#
# Agreement of a ranking with all judged searches, compared to what users were shown.
#
# Laws: both rankings are measured by the same verdicts. A page without a verdict has no gain, so
# the number of unjudged pages in the first places is reported; a search without a good or fair page
# has no measure.
#
# gain    value of a verdict: good 3, fair 1, bad 0
# nDCG    sum of gain / log2(place + 1) over the first 10 places, as a share of the maximum over all
#         orders of the judged pages
# first   place of the first good page; its reciprocal is 0 if there is none

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
    """Judged search, measured then and now."""

    query: str
    verdicts: int
    then: OrderMeasure
    now: OrderMeasure

    @property
    def change(self) -> float:
        """Improvement since then; 0 if nothing was good."""
        return (self.now.ndcg or 0.0) - (self.then.ndcg or 0.0)

    def as_json(self) -> dict[str, object]:
        """Return the search as a JSON document."""
        return {
            "query": self.query,
            "verdicts": self.verdicts,
            "then": self.then._asdict(),
            "now": self.now._asdict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAgreement:
    """Agreement over all judged searches."""

    searches: Sequence[JudgedSearch]

    @property
    def better(self) -> int:
        """Number of searches that are better now."""
        return sum(one.change > _SAME for one in self.searches)

    @property
    def worse(self) -> int:
        """Number of searches that are worse now."""
        return sum(one.change < -_SAME for one in self.searches)

    @property
    def by_chance(self) -> float:
        """Probability of at least this imbalance between better and worse by chance (sign test)."""
        changed, fewer = self.better + self.worse, min(self.better, self.worse)
        tail = sum(comb(changed, number) for number in range(fewer + 1))
        return float(min(1.0, 2 * tail / 2**changed))

    def mean_ndcg(self, *, now: bool) -> float | None:
        """Return the mean nDCG over the searches that have one."""
        found = [(one.now if now else one.then).ndcg for one in self.searches]
        return _mean([one for one in found if one is not None])

    def mean_reciprocal(self, *, now: bool) -> float | None:
        """Return the mean reciprocal rank."""
        found = [one.now if now else one.then for one in self.searches]
        return _mean([1 / one.first if one.first else 0.0 for one in found if one.ndcg is not None])

    def as_json(self) -> dict[str, object]:
        """Return the agreement as a JSON document."""
        return {
            "searches": [one.as_json() for one in self.searches],
            "ndcg": {"then": self.mean_ndcg(now=False), "now": self.mean_ndcg(now=True)},
            "mrr": {"then": self.mean_reciprocal(now=False), "now": self.mean_reciprocal(now=True)},
            "better": self.better,
            "worse": self.worse,
            "by_chance": self.by_chance,
        }


def compared(finder: Finder, judged: Iterable[Judgement], asked: SearchRequest) -> SearchAgreement:
    """Repeat the judged searches, and return the agreement."""
    return SearchAgreement(searches=[_compared(finder, one, asked) for one in judged])


def first_places(finder: Finder, query: str, asked: SearchRequest) -> tuple[str, ...]:
    """Return the URLs of the first places."""
    return tuple(one.entry.url for one in finder.find(parse(query), asked)[:SHOWN])


def _compared(finder: Finder, judged: Judgement, asked: SearchRequest) -> JudgedSearch:
    return JudgedSearch(
        query=judged.query,
        verdicts=len(judged.verdicts),
        then=measured(judged.shown, judged.verdicts),
        now=measured(first_places(finder, judged.query, asked), judged.verdicts),
    )


def measured(urls: Sequence[str], verdicts: Mapping[str, Verdict]) -> OrderMeasure:
    """Return the quality of this order of pages."""
    shown = [verdicts.get(url) for url in urls[:SHOWN]]
    best = _gathered(sorted((GAINS[one] for one in verdicts.values()), reverse=True))
    found = _gathered([GAINS[one] if one else 0.0 for one in shown])
    first = next((place for place, one in enumerate(shown, 1) if one is Verdict.GOOD), None)
    return OrderMeasure(found / best if best else None, first, shown.count(None))


def _gathered(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains[:SHOWN], 1))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
