"""`minicrawl lab judge` and `lab searches`: verdicts on results, and orders measured by them.

verdict    good, fair or bad: a user's opinion of a page that was shown for a query
judgement  the verdicts on the pages of one query in one session, and the pages shown, in order

Laws: verdicts refer to words and URLs, so they apply to every index and every ranking. They are
kept beside the store, not in the index, in an append-only file. Of two verdicts on a page the later
one counts. A line cut off by a crash does not count, and the next writer removes it.
"""

from __future__ import annotations

import csv
import fcntl
import functools
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from math import comb, log2
from pathlib import Path
from typing import IO, Any, NamedTuple

import click

from minicrawl.cli.options import Command, Number
from minicrawl.cli.output import NONE, show_facts, show_json, show_list
from minicrawl.cli.parameters import option, switch, with_options
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.errors import StoreError, UsageError
from minicrawl.search.commands.page_options import refuse_others
from minicrawl.search.commands.ranking_options import RankingChoice, ranking_options
from minicrawl.search.commands.search_command import (
    SETTINGS,
    ResultPage,
    ResultRequest,
    SearchCommand,
    results_options,
    show_result,
)
from minicrawl.search.index_queries import FieldWeights
from minicrawl.search.ranking import RankingWeights
from minicrawl.search.searching import Finder, Result, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.reader import JUDGED, file_beside
from minicrawl.web.urls import canonical_seed
from minicrawl.wording import counted, iso, visible

# ================================================================ judgements

SHOWN = 10
"""Places of a ranking that are stored and compared."""


class Verdict(StrEnum):
    """User's opinion of a page."""

    GOOD = "good"
    FAIR = "fair"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Verdicts on the pages of one query, and the pages shown."""

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
        # Remove a line that a crash cut off, or the next line would be appended to it.
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
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
        raise StoreError(f"{place} is not a judgement of a search: correct or remove it") from error


# ================================================================ agreement
#
# Agreement of a ranking with all judged searches, compared to the pages that users were shown.
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
    """Judged search, with the quality of its results then and now."""

    query: str
    verdicts: int
    then: OrderMeasure
    now: OrderMeasure

    @property
    def change(self) -> float:
        """Change of nDCG since then; 0 if the search has no measure."""
        return (self.now.ndcg or 0.0) - (self.then.ndcg or 0.0)

    def as_json(self) -> dict[str, object]:
        return {
            "query": self.query,
            "verdicts": self.verdicts,
            "then": self.then._asdict(),
            "now": self.now._asdict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAgreement:
    """Comparison of an order with earlier results, over all judged searches."""

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
        """Return the mean reciprocal rank over the searches that have an nDCG."""
        found = [one.now if now else one.then for one in self.searches]
        return _mean([1 / one.first if one.first else 0.0 for one in found if one.ndcg is not None])

    def as_json(self) -> dict[str, object]:
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


# ================================================================ weights

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


# ================================================================ judge


@click.command(cls=SearchCommand, context_settings=SETTINGS)
@results_options
@order_options
@with_options
@click.option(
    "--verdicts",
    "listed",
    metavar="FILE",
    type=click.File(encoding="utf-8-sig"),
    help="Save the verdicts in this CSV file: query, URL and verdict per line; - for stdin.",
)
@store_with_pages_option
def judge(
    words: tuple[str, ...],
    store: Path,
    choice: RankingChoice,
    listed: IO[str] | None,
    as_json: bool,
    explain: bool = switch(
        "Show the parts of each score, earlier verdicts, and the quality of this order on all "
        "judged searches."
    ),
    said: tuple[str, ...] = option(
        "Save this verdict on a result, by place or URL, such as 1=good, and do not ask. "
        "Repeatable.",
        flag="--verdict",
        metavar="WHERE=VERDICT",
        multiple=True,
    ),
    **asked: Any,
) -> None:
    """Ask for a verdict on each page that a search for WORDS finds: good, fair or bad.

    Without a terminal, each line of stdin is the verdict on a page. With --json, no questions are
    asked. Verdicts are saved beside the store, and `minicrawl lab searches` compares orders of
    results on all judged searches.
    """
    if listed is not None:
        if words:
            raise click.UsageError("--verdicts names the queries: leave out the WORDS")
        refuse_others(("listed", "by", "linear", "weights"), "--verdicts shows no results")
        keep_list(store, listed, choice)
        return
    if not words:
        raise click.UsageError("say which WORDS to find, or --verdicts")
    if explain and as_json:
        raise click.UsageError("--json has all parts of each score: leave out --explain")
    text = " ".join(words)
    found = ResultRequest(store=store, text=text, choice=choice, **asked).results()
    verdicts = verdicts_of_options(said, found.results, found.first)
    with keeping_verdicts(store, found.finder, choice, text, verdicts):
        if as_json:
            show_json(found.as_json())
            return
        judged = kept(store).get(plain(text)) if explain else None
        _show(found, judged, None if said else verdicts, explain=explain)
    if explain:
        tell_of_all_judged(store, found.finder, choice)


def _show(
    found: ResultPage,
    judged: Judgement | None,
    verdicts: dict[str, Verdict] | None,
    *,
    explain: bool,
) -> None:
    """Show each result, and ask for a verdict on it unless `verdicts` is None."""
    for rank, one in found.ranked():
        show_result(rank, one, explain=explain)
        if was := what_was_said(judged, one.entry.url):
            click.echo(f"     {was}")
        click.echo()
        if verdicts is not None and not ask_for_verdict(one, verdicts):
            break


# ---------------------------------------------------------------- verdicts

_BY_KEY = {one.value[0]: one for one in Verdict} | {one.value: one for one in Verdict}
_END = ("q", "quit")
_QUESTION = "     good, fair or bad? (g/f/b, Enter to skip, q to end) "
_COLUMNS = ("query", "url", "verdict")


def verdict(text: str) -> Verdict:
    """Parse a verdict: a word, or its first letter."""
    found = _BY_KEY.get(text.strip().lower())
    if found is None:
        raise UsageError(f"{text!a} is not a verdict; expected {', '.join(Verdict)}")
    return found


def ask_for_verdict(result: Result, verdicts: dict[str, Verdict]) -> bool:
    """Ask for a verdict on a result, and note it. Return False to end."""
    said = _asked()
    if said:
        verdicts[result.entry.url] = verdict(said)
    return said is not None


def _asked() -> str | None:
    """Read a verdict from the terminal or from a line of stdin; empty to skip, None to end."""
    is_terminal = sys.stdin.isatty()
    while True:
        if is_terminal:
            click.echo(_QUESTION, nl=False, err=True)
        line = sys.stdin.readline()
        said = line.strip().lower()
        if not line or said in _END:
            return None
        if not said or said in _BY_KEY or not is_terminal:
            return said


def verdicts_of_options(
    said: Iterable[str], results: Sequence[Result], first: int
) -> dict[str, Verdict]:
    """Parse the values of `--verdict`: PLACE=VERDICT or URL=VERDICT."""
    found = {}
    for one in said:
        where, _, which = one.rpartition("=")
        found[_url_of(where, results, first)] = verdict(which)
    return found


def _url_of(where: str, results: Sequence[Result], first: int) -> str:
    if not where.isdecimal():
        return _checked_url(where, f"{where!a} is neither a place nor a URL, as in 1=good")
    place = int(where[:9]) - first
    if not 0 <= place < len(results):
        raise UsageError(f"no result is at place {where}")
    return results[place].entry.url


def _checked_url(text: str, problem: str) -> str:
    url = canonical_seed(text)
    if url is None:
        raise UsageError(problem)
    return url


@contextmanager
def keeping_verdicts(
    store: Path,
    finder: Finder,
    choice: RankingChoice,
    query: str,
    verdicts: dict[str, Verdict],
) -> Iterator[None]:
    """Save the verdicts on a search at the end, even if the user interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        _keep(store, finder, choice, {plain(query): verdicts})
        raise
    _keep(store, finder, choice, {plain(query): verdicts})


def keep_list(store: Path, lines: IO[str], choice: RankingChoice) -> None:
    """Save the verdicts in a CSV file with query, URL and verdict per line."""
    said = _read(lines)
    _keep(store, choice.finder(store), choice, said)


def _keep(
    store: Path, finder: Finder, choice: RankingChoice, said: Mapping[str, Mapping[str, Verdict]]
) -> None:
    """Save verdicts on searches with their current results, and print a summary."""
    asked = choice.request(SHOWN)
    found = [
        Judgement(query=query, verdicts=verdicts, shown=first_places(finder, query, asked))
        for query, verdicts in said.items()
        if verdicts
    ]
    if not found:
        return
    keep(store, found, time.time())
    verdicts = counted(sum(len(one.verdicts) for one in found), "verdict")
    queries = counted(len(found), "search", "searches")
    click.echo(f"{verdicts} on {queries} saved in {file_of(store)}", err=True)


def _read(lines: IO[str]) -> dict[str, dict[str, Verdict]]:
    """Return the verdicts in a CSV file by query and URL; raise an error that names a bad line."""
    said: dict[str, dict[str, Verdict]] = {}
    try:
        for number, row in enumerate(csv.reader(lines), 1):
            place = f"{visible(lines.name)}, line {number}"
            if not row or (number == 1 and tuple(row) == _COLUMNS):
                continue
            if len(row) != len(_COLUMNS):
                raise UsageError(f"{place}: expected {','.join(_COLUMNS)}")
            query, url, which = row
            parse(query)
            url = _checked_url(url, f"{place}: {url!a} is not a URL")
            said.setdefault(plain(query), {})[url] = verdict(which)
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{visible(lines.name)} is not a CSV file: {error}") from error
    return said


# ================================================================ searches

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
    found = compared(choice.finder(store), judged.values(), choice.request(SHOWN))
    if as_json:
        show_json(found.as_json())
        return
    show_list(
        _HEADINGS,
        map(_search_line, sorted(found.searches, key=lambda search: search.change)),
        texts=1,
    )
    click.echo()
    show_facts(_facts(found))


def _search_line(search: JudgedSearch) -> tuple[str, ...]:
    then, now = search.then, search.now
    return (
        _number(then.ndcg),
        _number(now.ndcg),
        str(then.first or "-"),
        str(now.first or "-"),
        str(now.unjudged),
        search.query,
    )


def _facts(found: SearchAgreement) -> Iterator[tuple[str, str]]:
    verdicts = counted(sum(one.verdicts for one in found.searches), "verdict")
    yield "judged", f"{counted(len(found.searches), 'search', 'searches')}, {verdicts}"
    yield "nDCG@10", _change(found.mean_ndcg(now=False), found.mean_ndcg(now=True))
    yield "MRR@10", _change(found.mean_reciprocal(now=False), found.mean_reciprocal(now=True))
    same = len(found.searches) - found.better - found.worse
    yield "searches", f"{found.better} better, {found.worse} worse, {same} as before"
    yield "by chance", f"{found.by_chance:.3f}, by a sign test"


def tell_of_all_judged(store: Path, finder: Finder, choice: RankingChoice) -> None:
    """Print the quality of this ranking on all judged searches, if there are any."""
    if judged := kept(store):
        found = compared(finder, judged.values(), choice.request(SHOWN))
        means = _change(found.mean_ndcg(now=False), found.mean_ndcg(now=True))
        queries = counted(len(judged), "judged search", "judged searches")
        click.echo(f"{queries}: nDCG@10 {means}, {found.better} better, {found.worse} worse")


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
