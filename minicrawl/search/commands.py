"""`minicrawl search`: find pages by what they say."""

from __future__ import annotations

import csv
import functools
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from minicrawl.cli.common.options import Number, given_options
from minicrawl.cli.common.stores import json_option, percent, store_with_pages_option
from minicrawl.cli.common.tables import (
    NONE,
    share,
    show_facts,
    show_json,
    show_list,
    show_paragraph,
)
from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.search.index import FOLDER, FieldWeights, SearchIndex
from minicrawl.search.judgements import (
    SHOWN,
    JudgedSearch,
    Judgement,
    SearchAgreement,
    Verdict,
    compared,
    file_of,
    first_places,
    keep,
    kept,
    plain,
)
from minicrawl.search.query import MOST_WORDS, Query, Snippet, parse
from minicrawl.search.ranking import RankingWeights
from minicrawl.search.searching import Finder, Result
from minicrawl.store.reader import archive_folder, reading, search_folder
from minicrawl.web.urls import canonical_seed
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.search.searching import SearchRequest


# ================================================================ ranking
#
# Options for the order in which pages are found.
#
# What finds pages is imported when it is needed: a command with these options tells its help at
# once.

Command = Callable[..., Any]

_MOST = 1_000_000.0
_IN_FIELDS = {
    one.name if one.name == "compound" else f"in-{one.name}": one.name
    for one in fields(FieldWeights)
}
_PARTS = [one.name for one in fields(RankingWeights) if one.name != "fields"]


class Linear(click.ParamType[float]):
    """`linear=W`: the part of the likeness."""

    name = "score"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        name, _, part = value.partition("=")
        if name != "linear":
            self.fail(f"{value!r} is not a score such as linear=0.7", param, ctx)
        return Number(0, 1).convert(part, param, ctx)


class Weight(click.ParamType[tuple[str, float]]):
    """`NAME=W`: how much a part of the score counts."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingChoice:
    """How pages are ordered."""

    by: str | None = None
    linear: float | None = None
    weights: RankingWeights = field(default_factory=RankingWeights)

    def finder(self, store: Path, told: Query | None = None) -> Finder:
        """What finds the pages of a store. The index is made first, if there is none.

        If ranks of topics are mixed, it says how they are for the query `told`.
        """
        from minicrawl.report.kept import kept_scores, scores
        from minicrawl.report.snapshot import snapshot
        from minicrawl.search.indexing import TopicMixture, is_by_topics
        from minicrawl.search.searching import Finder

        prepare_index(store)
        folder = search_folder(store)
        if self.by is None:
            return Finder(folder)
        with snapshot(store) as seen:
            if not is_by_topics(self.by) or kept_scores(seen, self.by) is not None:
                return Finder(folder, scores(seen, self.by))
            mixture = TopicMixture(seen, SearchIndex(folder / FOLDER), self.by.partition(":")[2])
        if told is not None:
            parts = (f"{topic} {share(part)}" for topic, part in mixture.parts(told).items())
            click.echo(f"topics: {visible(', '.join(parts))}", err=True)
        return Finder(folder, mixture.scores)

    def asked(self, count: int, offset: int = 0, *, folds: bool = True) -> SearchRequest:
        """So many pages in this order."""
        from minicrawl.search.searching import SearchRequest

        return SearchRequest(
            count=count, offset=offset, folds=folds, linear=self.linear, weights=self.weights
        )


_OPTIONS = (
    click.option(
        "--by",
        metavar="NAME",
        help="Order the pages that have all words by this rank. `topics` mixes those of `rank "
        "pagerank --topics` by how likely the words are in each topic; topics:NAME mixes those "
        "saved with --as NAME.",
    ),
    click.option(
        "--score",
        "linear",
        metavar="linear=W",
        type=Linear(),
        help="Order by W parts of the likeness and 1 - W parts of the rank.",
    ),
    click.option(
        "--weight",
        "weights",
        metavar="NAME=W",
        type=Weight(),
        multiple=True,
        help=f"Change how much a part of the score counts: {', '.join(_PARTS)}, or a word "
        f"{', '.join(_IN_FIELDS)}. Repeatable.",
    ),
)


def ranking_options(command: Command) -> Command:
    """Pass `choice`, how pages are ordered, to the command."""

    @functools.wraps(command)
    def with_choice(
        *, by: str | None, linear: float | None, weights: tuple[tuple[str, float], ...], **rest: Any
    ) -> Any:
        if by is not None and linear is None and weights:
            raise click.UsageError("--by alone is an order without weights: --weight needs --score")
        choice = RankingChoice(by=by, linear=linear, weights=_weights(dict(weights)))
        return command(choice=choice, **rest)

    decorated: Command = with_choice
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _weights(changed: dict[str, float]) -> RankingWeights:
    usual = RankingWeights()
    inner = {_IN_FIELDS[name]: value for name, value in changed.items() if name in _IN_FIELDS}
    parts = {name: value for name, value in changed.items() if name in _PARTS}
    return replace(usual, fields=replace(usual.fields, **inner), **parts)


def prepare_index(store: Path) -> None:
    """Make the index of a store, if there is none that can be used, and join the latest ranks."""
    from minicrawl.search.index_command import bring_index_up_to_date
    from minicrawl.search.indexing import has_index, why_useless
    from minicrawl.search.searching import join_importance

    folder = search_folder(store)
    with reading(store) as connection:
        is_there = has_index(folder) and not why_useless(folder, connection)
    if not is_there:
        bring_index_up_to_date(store)
    elif told := join_importance(folder, store):
        click.echo(f"minicrawl: {visible(told)}", err=True)
    if not archive_folder(store).is_dir():
        click.echo(f"{archive_folder(store)} is gone: only the index is left", err=True)


# ================================================================ judging
#
# Verdicts on results: how they are said, and how a ranking does by all of them.

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


# ================================================================ command

_MISSING = "--serve needs starlette and uvicorn: install minicrawl[dashboard]"
_INDENT = " " * 5
_BEGIN, _END_COMMAND = "\x02", "\x03"
"""No text of a page has these: `visible` writes them out."""


class _SearchCommand(click.Command):
    """Words may begin with a minus: `-n` is an option only before a number, `-h` only by itself."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-n 3` is `--n 3`, and `-h` is `--help`, as everywhere else."""
        end = args.index("--") if "--" in args else len(args)
        pairs = pairwise([*args[:end], ""])
        named = ["--n" if one == "-n" and other.isdecimal() else one for one, other in pairs]
        options = ["--help" if one == "-h" else one for one in named]
        return super().parse_args(ctx, [*options, *args[end:]])


@click.command(
    cls=_SearchCommand,
    context_settings={"help_option_names": ["--help"], "ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--n",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Show N pages.",
)
@click.option(
    "--offset",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Leave out the first N pages.",
)
@ranking_options
@click.option(
    "--all",
    "shows_all",
    is_flag=True,
    help="Show every page, also those that are like another one.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show what each score is made of, and how this order does on all judged searches.",
)
@click.option(
    "--judge",
    is_flag=True,
    help="Ask for a verdict on each result: good, fair or bad. Without a terminal, each line of "
    "stdin is the verdict on a result.",
)
@click.option(
    "--verdict",
    "said",
    metavar="WHERE=VERDICT",
    multiple=True,
    help="Keep this verdict on a place of the results, or a URL, such as 1=good. Repeatable.",
)
@click.option(
    "--verdicts",
    "listed",
    metavar="FILE",
    type=click.File(encoding="utf-8-sig"),
    help="Keep the verdicts of this CSV file, with a query, a URL and a verdict in each line; - is "
    "stdin.",
)
@click.option(
    "--serve",
    is_flag=True,
    help="Serve a page with a search box, and print its address. Ctrl-C ends it.",
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help="The port of that page; 0 for any.  [default: 8420, or any if that is in use]",
)
@json_option
@store_with_pages_option
def search(
    words: tuple[str, ...],
    store: Path,
    listed: IO[str] | None,
    serve: bool,
    port: int | None,
    **shown: Any,
) -> None:
    """Find pages by what they say.

    Pages with all words come first. WORDS may also be "an exact phrase", -without, site:NAME,
    title:WORD, url:WORD, lang:CODE and after:DATE. -site:NAME and the like leave pages out. Put the
    whole query in quotes, so that the shell does not change it.

    Verdicts are kept beside the store, and `minicrawl agree --searches` compares a ranking on all
    searches that were judged.
    """
    if serve:
        _refuse_others(("serve", "port"), "--serve shows a page in the browser")
        _serve(store, words, port)
    elif port is not None:
        raise click.UsageError("--port needs --serve")
    elif listed is not None:
        _refuse_words(words, "--verdicts names the queries")
        _refuse_others(("listed", "by", "linear", "weights"), "--verdicts shows no results")
        keep_list(store, listed, shown["choice"])
    elif not words:
        raise click.UsageError("say which WORDS to find, or --serve")
    else:
        _Wanted(store=store, text=" ".join(words), **shown).show()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is asked for, and how it is shown and judged."""

    store: Path
    text: str
    choice: RankingChoice
    n: int
    offset: int
    shows_all: bool
    explain: bool
    judge: bool
    said: tuple[str, ...]
    as_json: bool

    def show(self) -> None:
        """Find the pages, show them, and keep what is said of them."""
        if self.judge and self.as_json:
            raise click.UsageError("--judge and --json cannot be combined")
        if self.explain and self.as_json:
            raise click.UsageError("--json has all parts of each score: leave out --explain")
        query = parse(self.text)
        if query.ignored:
            click.echo(f"only the first {MOST_WORDS} words count", err=True)
        finder = self.choice.finder(self.store, query)
        asked = self.choice.asked(self.n, self.offset, folds=not self.shows_all)
        results = finder.find(query, asked)
        verdicts = verdicts_of_options(self.said, results, self.offset + 1)
        with keeping_verdicts(self.store, finder, self.choice, self.text, verdicts):
            self._show(results, verdicts)
        if self.explain and not self.as_json:
            tell_of_all_judged(self.store, finder, self.choice)

    def _show(self, results: list[Result], verdicts: dict[str, Verdict]) -> None:
        ranked = list(enumerate(results, self.offset + 1))
        if self.as_json:
            show_json([one.as_json(rank) for rank, one in ranked])
            return
        judged = judged_before(self.store, self.text) if self.explain else None
        for rank, one in ranked:
            _show(rank, one, explain=self.explain)
            if said := what_was_said(judged, one.entry.url):
                click.echo(f"     {said}")
            click.echo()
            if self.judge and not ask_for_verdict(one, verdicts):
                break
        if not ranked:
            click.echo("no page has these words", err=True)


def _refuse_words(words: tuple[str, ...], why: str) -> None:
    if words:
        raise click.UsageError(f"{why}: leave out the WORDS")


def _refuse_others(taken: Collection[str], why: str) -> None:
    """All options but these, and those that name the store."""
    for name, option in given_options().items():
        if name not in (*taken, "store", "cluster"):
            raise click.UsageError(f"{why}: leave out {option}")


def _serve(store: Path, words: tuple[str, ...], port: int | None) -> None:
    _refuse_words(words, "--serve asks for the words in the browser")
    try:
        from minicrawl.search.serving import serve_search
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise UsageError(_MISSING) from None
    prepare_index(store)
    with suppress(KeyboardInterrupt):
        serve_search(store, port, click.echo)


# ---------------------------------------------------------------- results


def _show(rank: int, found: Result, *, explain: bool) -> None:
    entry = found.entry
    title = visible(entry.title or entry.url)
    show_paragraph(title, f"{rank:>3}. ", lambda line: line[:5] + click.style(line[5:], bold=True))
    _show_url(visible(entry.url), percent(found.importance))
    show_paragraph(_marked(found.snippet), _INDENT, _dressed)
    if found.folded:
        click.echo(f"     and {counted(found.folded, 'page')} like it (--all)")
    if explain:
        parts = (f"{name} {value:.3g}" for name, value in found.score._asdict().items())
        show_paragraph(", ".join(parts), _INDENT)


def _show_url(url: str, importance: str) -> None:
    """Whole and behind no indent where it is long, so that it can be copied from a terminal."""
    width = shutil.get_terminal_size().columns - len(_INDENT) - len(importance) - 2
    if sys.stdout.isatty() and len(url) > width:
        show_paragraph(importance, _INDENT)
        click.secho(url, fg="cyan")
    else:
        click.echo(f"{_INDENT}{click.style(url, fg='cyan')}  {importance}")


def _marked(found: Snippet) -> str:
    """The snippet with signs before and behind the words that were looked for."""
    text, marks, at, shown = found.text, found.marks, 0, []
    for begin, end in marks:
        shown += [visible(text[at:begin]), f"{_BEGIN}{visible(text[begin:end])}{_END_COMMAND}"]
        at = end
    return "".join((*shown, visible(text[at:])))


def _dressed(line: str) -> str:
    """The words are bold on a terminal, and between asterisks elsewhere."""
    begin, end = ("\x1b[33m\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("*", "*")
    return line.replace(_BEGIN, begin).replace(_END_COMMAND, end)
