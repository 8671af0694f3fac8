"""`minicrawl lab searches`: compares an order of results on all judged searches.

Laws: both rankings are measured by the same verdicts. A page without a verdict has no gain, so
the number of unjudged pages in the first places is reported; a search without a good or fair page
has no measure.

gain    value of a verdict: good 3, fair 1, bad 0
nDCG    sum of gain / log2(place + 1) over the first 10 places, as a share of the maximum over all
        orders of the judged pages
first   place of the first good page; its reciprocal is 0 if there is none
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import comb, log2
from pathlib import Path
from typing import Any, NamedTuple

import click

from minicrawl.cli.options import Command, Number
from minicrawl.cli.output import NONE, show_facts, show_json, show_list
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.errors import UsageError
from minicrawl.lab.commands.judgements import SHOWN, Judgement, Verdict, file_of, kept
from minicrawl.search.commands.ranking_options import RankingChoice, ranking_options
from minicrawl.search.index_queries import FieldWeights
from minicrawl.search.ranking import RankingWeights
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.wording import counted

_MOST = 1_000_000.0
_IN_FIELDS = {
    one.name if one.name == "compound" else f"in-{one.name}": one.name
    for one in fields(FieldWeights)
}
_PARTS = [one.name for one in fields(RankingWeights) if one.name != "fields"]


class Weight(click.ParamType[tuple[str, float]]):
    """`NAME=W`: the weight of a part of the score."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        name, _, weight = str(value).partition("=")
        if name not in (*_PARTS, *_IN_FIELDS):
            known = ", ".join((*_PARTS, *_IN_FIELDS))
            self.fail(f"{value!r} is not a weight such as title=0.5; there are {known}", param, ctx)
        return name, Number(0, _MOST).convert(weight, param, ctx)


_weight_option = click.option(
    "--weight",
    "weights",
    metavar="NAME=W",
    type=Weight(),
    multiple=True,
    help=f"Weight of a part of the score: {', '.join(_PARTS)}; or of a query word by its field: "
    f"{', '.join(_IN_FIELDS)}. Repeatable.",
)


def order_options(command: Command) -> Command:
    """Add the options of ranking and `--weight`; pass both to the command as `choice`."""

    @functools.wraps(command)
    def with_weights(
        *, choice: RankingChoice, weights: tuple[tuple[str, float], ...], **rest: Any
    ) -> Any:
        if choice.by is not None and choice.linear is None and weights:
            raise click.UsageError("--by alone uses no weights: add --score, or leave out --weight")
        return command(choice=replace(choice, weights=_weights(dict(weights))), **rest)

    return ranking_options(_weight_option(with_weights))


def _weights(changed: dict[str, float]) -> RankingWeights:
    usual = RankingWeights()
    inner = {_IN_FIELDS[name]: value for name, value in changed.items() if name in _IN_FIELDS}
    parts = {name: value for name, value in changed.items() if name in _PARTS}
    return replace(usual, fields=replace(usual.fields, **inner), **parts)


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


_HEADINGS = ("nDCG then", "now", "first then", "now", "no verdict", "search")


@click.command()
@order_options
@json_option
@store_with_pages_option
def searches(store: Path, choice: RankingChoice, as_json: bool) -> None:
    """Compare the results of an order with the results shown earlier, on all judged searches.

    Without --by, --score and --weight, this is the default order.
    """
    judged = kept(store)
    if not judged:
        raise UsageError(f"no searches are judged in {file_of(store)}: run `minicrawl lab judge`")
    agreement = compared(choice.finder(store), judged.values(), choice.request(SHOWN))
    if as_json:
        show_json(agreement)
        return
    lines = (
        (
            *(_number(search.then.ndcg), _number(search.now.ndcg)),
            *(str(search.then.first or "-"), str(search.now.first or "-")),
            str(search.now.unjudged),
            search.query,
        )
        for search in sorted(agreement.searches, key=lambda search: search.change)
    )
    show_list(_HEADINGS, lines, texts=1)
    click.echo()
    show_facts(_facts(agreement))


def _facts(agreement: SearchAgreement) -> Iterator[tuple[str, str]]:
    verdicts = counted(sum(search.verdicts for search in agreement.searches), "verdict")
    yield "judged", f"{counted(len(agreement.searches), 'search', 'searches')}, {verdicts}"
    yield "nDCG@10", _change(agreement.mean_ndcg(now=False), agreement.mean_ndcg(now=True))
    yield (
        "MRR@10",
        _change(agreement.mean_reciprocal(now=False), agreement.mean_reciprocal(now=True)),
    )
    same = len(agreement.searches) - agreement.better - agreement.worse
    yield "searches", f"{agreement.better} better, {agreement.worse} worse, {same} as before"
    yield "by chance", f"{agreement.by_chance:.3f}, by a sign test"


def tell_of_all_judged(store: Path, finder: Finder, choice: RankingChoice) -> None:
    """Print the quality of this ranking on all judged searches, if there are any."""
    if judged := kept(store):
        agreement = compared(finder, judged.values(), choice.request(SHOWN))
        means = _change(agreement.mean_ndcg(now=False), agreement.mean_ndcg(now=True))
        queries = counted(len(judged), "judged search", "judged searches")
        click.echo(
            f"{queries}: nDCG@10 {means}, {agreement.better} better, {agreement.worse} worse"
        )


def what_was_said(judged: Judgement | None, url: str) -> str:
    """Return a page's earlier verdict and place; empty if the query was not judged."""
    if judged is None:
        return ""
    said = judged.verdicts.get(url)
    was = f"was at place {judged.shown.index(url) + 1}" if url in judged.shown else "is new"
    return f"{f'judged {said}' if said else 'not judged'}, {was}"


def _change(then: float | None, now: float | None) -> str:
    return f"{_number(then)} -> {_number(now)}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
