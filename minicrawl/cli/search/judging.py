"""Verdicts on results: how they are said, and how a ranking does by all of them."""

import csv
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from minicrawl.cli.common.tables import NONE, show_facts, show_json, show_list
from minicrawl.cli.search.ranking import RankingChoice
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.report.search.agreement import JudgedSearch, SearchAgreement, compared, first_places
from minicrawl.report.search.judgements import (
    SHOWN,
    Judgement,
    Verdict,
    file_of,
    keep,
    kept,
    plain,
)
from minicrawl.report.search.searching import Finder, Result
from minicrawl.search.query import parse
from minicrawl.web.urls import canonical_seed
from minicrawl.wording import counted

_BY_KEY = {one.value[0]: one for one in Verdict} | {one.value: one for one in Verdict}
_END = ("q", "quit")
_QUESTION = "     good, fair or bad? (g/f/b, Enter to skip, q to end) "
_COLUMNS = ("query", "url", "verdict")


def verdict(text: str) -> Verdict:
    """The verdict that a user wrote: a word, or its first letter."""
    found = _BY_KEY.get(text.strip().lower())
    if found is None:
        raise UsageError(f"{text!a} is not a verdict: say {', '.join(Verdict)}")
    return found


# ---------------------------------------------------------------- to judge


def ask_for_verdict(result: Result, verdicts: dict[str, Verdict]) -> bool:
    """Ask for a verdict on this result: on a terminal, or a line of stdin. False to end."""
    said = _asked()
    if said:
        verdicts[result.entry.url] = verdict(said)
    return said is not None


def _asked() -> str | None:
    """What the user says; empty to skip, None to end."""
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
    """What `--verdict` says: each a place of the results or a URL, and the verdict."""
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
        raise UsageError(f"there is no result at place {where}")
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
    """Keep the verdicts on one search that are there at the end, also if the user interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        _keep(store, finder, choice, {plain(query): verdicts})
        raise
    _keep(store, finder, choice, {plain(query): verdicts})


def keep_list(store: Path, lines: IO[str], choice: RankingChoice) -> None:
    """Keep all verdicts of a list: CSV with a query, a URL and a verdict in each line."""
    said = _read(lines)
    _keep(store, choice.finder(store), choice, said)


def _keep(
    store: Path, finder: Finder, choice: RankingChoice, said: Mapping[str, Mapping[str, Verdict]]
) -> None:
    """Keep the verdicts on some searches, with what is shown for them, and say so."""
    asked = choice.asked(SHOWN)
    found = [
        Judgement(query=query, verdicts=verdicts, shown=first_places(finder, query, asked))
        for query, verdicts in said.items()
        if verdicts
    ]
    if not found:
        return
    keep(store, found, time.time())
    verdicts = counted(sum(len(one.verdicts) for one in found), "verdict")
    searches = counted(len(found), "search", "searches")
    click.echo(f"{verdicts} on {searches} kept in {file_of(store)}", err=True)


def _read(lines: IO[str]) -> dict[str, dict[str, Verdict]]:
    """The list, whole, or an error that names the line."""
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


# ---------------------------------------------------------------- to compare


_HEADINGS = ("nDCG then", "now", "first then", "now", "no verdict", "search")


def show_agreement(store: Path, choice: RankingChoice, *, as_json: bool) -> None:
    """Show how this ranking does on all searches that were judged."""
    judged = kept(store)
    if not judged:
        raise UsageError(f"{file_of(store)} has no judged search: `minicrawl search WORDS --judge`")
    found = compared(choice.finder(store), judged.values(), choice.asked(SHOWN))
    if as_json:
        show_json(found.as_json())
        return
    show_list(_HEADINGS, map(_line, sorted(found.searches, key=_by_change)), texts=1)
    click.echo()
    show_facts(_facts(found))


def _by_change(search: JudgedSearch) -> float:
    return search.change


def _line(search: JudgedSearch) -> tuple[str, ...]:
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
    """Say in a line how this ranking does on all searches that were judged, if any was."""
    if judged := kept(store):
        found = compared(finder, judged.values(), choice.asked(SHOWN))
        means = _change(found.mean_ndcg(now=False), found.mean_ndcg(now=True))
        searches = counted(len(judged), "judged search", "judged searches")
        click.echo(f"{searches}: nDCG@10 {means}, {found.better} better, {found.worse} worse")


def what_was_said(judged: Judgement | None, url: str) -> str:
    """What is known of a page from the time when the query was judged; empty if nothing is."""
    if judged is None:
        return ""
    said = judged.verdicts.get(url)
    was = f"was at place {judged.shown.index(url) + 1}" if url in judged.shown else "is new"
    return f"{f'judged {said}' if said else 'not judged'}, {was}"


def judged_before(store: Path, query: str) -> Judgement | None:
    """What was said of this query."""
    return kept(store).get(plain(query))


def _change(then: float | None, now: float | None) -> str:
    return f"{_number(then)} -> {_number(now)}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
