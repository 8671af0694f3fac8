"""`minicrawl lab judge`: asks for verdicts on results of a search, or takes them from a list."""

import csv
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import click

from minicrawl.cli.output import show_json
from minicrawl.cli.parameters import option, switch, with_options
from minicrawl.cli.store_options import store_with_pages_option
from minicrawl.errors import UsageError
from minicrawl.lab.commands.judgements import SHOWN, Judgement, Verdict, file_of, keep, kept, plain
from minicrawl.lab.commands.searches import (
    first_places,
    order_options,
    tell_of_all_judged,
    what_was_said,
)
from minicrawl.search.commands.page_options import refuse_others
from minicrawl.search.commands.ranking_options import RankingChoice
from minicrawl.search.commands.search_command import (
    SETTINGS,
    ResultPage,
    ResultRequest,
    SearchCommand,
    results_options,
    show_result,
)
from minicrawl.search.searching import Finder, Result
from minicrawl.search.words.query import parse
from minicrawl.web.urls import canonical_seed
from minicrawl.wording import counted, visible


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
    **options: Any,
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
        listed_verdicts = _read(listed)
        _keep(store, choice.finder(store), choice, listed_verdicts)
        return
    if not words:
        raise click.UsageError("say which WORDS to find, or --verdicts")
    if explain and as_json:
        raise click.UsageError("--json has all parts of each score: leave out --explain")
    text = " ".join(words)
    page = ResultRequest(store=store, text=text, choice=choice, **options).results()
    verdicts = {
        _url_of(where, page.results, page.first): verdict(which)
        for where, _, which in (each.rpartition("=") for each in said)
    }
    try:
        if as_json:
            show_json(page)
        else:
            judged = kept(store).get(plain(text)) if explain else None
            _show(page, judged, None if said else verdicts, explain=explain)
    except KeyboardInterrupt:  # what was answered until then is saved
        _keep(store, page.finder, choice, {plain(text): verdicts})
        raise
    _keep(store, page.finder, choice, {plain(text): verdicts})
    if explain:
        tell_of_all_judged(store, page.finder, choice)


def _show(
    page: ResultPage,
    judged: Judgement | None,
    verdicts: dict[str, Verdict] | None,
    *,
    explain: bool,
) -> None:
    """Show each result, and ask for a verdict on it unless `verdicts` is None."""
    for rank, result in page.ranked():
        show_result(rank, result, explain=explain)
        if was := what_was_said(judged, result.entry.url):
            click.echo(f"     {was}")
        click.echo()
        if verdicts is not None:
            if (answer := _answer()) is None:
                break
            if answer:
                verdicts[result.entry.url] = verdict(answer)


_BY_KEY = {one.value[0]: one for one in Verdict} | {one.value: one for one in Verdict}
_END = ("q", "quit")
_QUESTION = "     good, fair or bad? (g/f/b, Enter to skip, q to end) "
_COLUMNS = ("query", "url", "verdict")


def verdict(text: str) -> Verdict:
    """Parse a verdict: a word, or its first letter."""
    of_key = _BY_KEY.get(text.strip().lower())
    if of_key is None:
        raise UsageError(f"{text!a} is not a verdict; expected {', '.join(Verdict)}")
    return of_key


def _answer() -> str | None:
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


def _keep(
    store: Path, finder: Finder, choice: RankingChoice, said: Mapping[str, Mapping[str, Verdict]]
) -> None:
    """Save verdicts on searches with their current results, and print a summary."""
    request = choice.request(SHOWN)
    judgements = [
        Judgement(query=query, verdicts=verdicts, shown=first_places(finder, query, request))
        for query, verdicts in said.items()
        if verdicts
    ]
    if not judgements:
        return
    keep(store, judgements, time.time())
    verdicts = counted(sum(len(judgement.verdicts) for judgement in judgements), "verdict")
    queries = counted(len(judgements), "search", "searches")
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
