"""Pages and links: one page, lists of them, and a report with most of the lists.

`minicrawl page`, `explain`, `backlinks` and `links` are about one page; `pages`, `changes`,
`broken`, `redirects`, `duplicates` and `top` are lists; `report` is an HTML file. Each command
imports its report on demand, so that it starts quickly.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from minicrawl.cli.options import MAIN, MARKDOWN, ListOption, refuse_without_text
from minicrawl.cli.output import NONE, percent, short_time, show_facts, show_json, show_list, units
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import (
    Moment,
    count_option,
    json_option,
    refuse_without_near_duplicates,
    selection_options,
    store_option,
    store_with_pages_option,
    tell_of_importance,
    warn_of_unranked_pages,
)
from minicrawl.errors import UsageError
from minicrawl.model import State
from minicrawl.report.saved_ranks import RISING, told
from minicrawl.report.selected_pages import (
    COLUMNS,
    LIST_COLUMNS,
    Block,
    PageSelection,
    RankedPage,
    sorted_rows,
    top as top_pages,
)
from minicrawl.report.snapshot import Snapshot, snapshot
from minicrawl.store.derived import OPIC
from minicrawl.wording import counted, iso, visible

if TYPE_CHECKING:
    from minicrawl.report.archived.page_versions import PageVersion
    from minicrawl.report.graph.top_sites import RankedSite
    from minicrawl.report.links.backlinks import Linked
    from minicrawl.report.links.written_links import WrittenLink
    from minicrawl.report.states.explanation import Explanation


@click.command()
@click.argument("url")
@click.option("--text", "only_text", is_flag=True, help="Show only the text, without markup.")
@click.option("--main", "only_main", is_flag=True, help="Show only the main text.")
@click.option("--markdown", is_flag=True, help="Show the main text as Markdown.")
@click.option(
    "--headers", "only_headers", is_flag=True, help="Show only the status and the headers."
)
@click.option("--raw", is_flag=True, help="Write the kept bytes unchanged, for a file or a pipe.")
@click.option("--at", metavar="TIME", help="Show the page as it was at this time.  [default: now]")
@click.option(
    "--version",
    "number",
    metavar="N",
    type=click.IntRange(min=1),
    help="Show the N-th kept response.  [default: the last one]",
)
@click.option("--versions", "lists", is_flag=True, help="List the kept responses, oldest first.")
@json_option
@store_with_pages_option
def page(
    url: str,
    store: Path,
    only_text: bool,
    only_main: bool,
    markdown: bool,
    only_headers: bool,
    raw: bool,
    at: str | None,
    number: int | None,
    lists: bool,
    as_json: bool,
) -> None:
    """Show the page at URL as it was fetched.

    On a terminal it is shown in the pager. Control characters are shown by name, except with --raw.
    """
    if raw and sys.stdout.isatty():
        raise click.UsageError("--raw is not for terminals: write to a file or a pipe")
    if lists:
        if any((only_text, only_main, markdown, only_headers, raw, at, number)):
            raise click.UsageError("--versions lists all responses: leave out the other options")
        _list_versions(url, store, as_json=as_json)
        return
    if sum((only_text, only_main, markdown, only_headers, raw, as_json)) > 1:
        raise click.UsageError(
            "--text, --main, --markdown, --headers, --raw and --json: choose one of them"
        )
    if at is not None and number is not None:
        raise click.UsageError("--at and --version each choose a response: leave out one")
    from minicrawl.report.archived.made_texts import MadeTexts
    from minicrawl.report.archived.page_versions import moment, version

    made = MAIN if only_main else MARKDOWN if markdown else None
    if made:
        refuse_without_text(made, f"--{made}")
    with snapshot(store) as seen, MadeTexts(seen) as texts:
        found = version(seen, url, number, None if at is None else moment(at))
        text = texts.of(found, made) if made else None
    if made:
        if text is None:
            raise UsageError(f"{found.answer.url} has no {made} text: only its whole text was kept")
        _show(iter(text.splitlines()))
    elif raw:
        sys.stdout.buffer.write(found.answer.body)
    elif as_json:
        show_json(found.as_json())
    else:
        _show(_headers(found) if only_headers else _body(found, only_text=only_text))


def _list_versions(url: str, store: Path, *, as_json: bool) -> None:
    from minicrawl.report.archived.page_versions import VersionRow, versions

    with snapshot(store) as seen:
        found = versions(seen, url)
    if as_json:
        show_json([row._asdict() for row in found])
        return
    lines = (
        (
            f"{row.version}",
            row.fetched,
            f"{row.status or '-'}",
            "-" if row.bytes is None else f"{row.bytes:,}",
            f"{row.same_as or '-'}",
        )
        for row in found
    )
    show_list(VersionRow._fields, lines, texts=0)


def _show(lines: Iterator[str]) -> None:
    shown = (f"{visible(line.expandtabs())}\n" for line in lines)
    if sys.stdout.isatty():
        click.echo_via_pager(shown)
    else:
        sys.stdout.writelines(shown)


def _body(found: PageVersion, *, only_text: bool) -> Iterator[str]:
    yield from (found.text if only_text else found.markup).splitlines()


def _headers(found: PageVersion) -> Iterator[str]:
    answer = found.answer
    yield f"{answer.status} {answer.url}"
    yield f"fetched {iso(answer.at)}, version {found.number} of {found.of_all}"
    if answer.cut:
        yield f"cut: {answer.cut}"
    yield from (f"{name}: {value}" for name, value in answer.headers.items())


# ================================================================ explain
#
# Rank, state and links of one page: `minicrawl explain`, `backlinks` and `links`.

SOURCE_HEADINGS = ("cash given", "share", "by")
FETCH_HEADINGS = ("fetched at", "status", "outcome", "detail")
LINK_HEADINGS = ("importance", "state", "url")

raw_option = click.option(
    "--raw",
    is_flag=True,
    help="Show links as the page has them, with text, rel and href; redirects are not followed. "
    "Needs a store of `crawl --keep links` or --keep pages.",
)
_SHOWN = 100


@click.command()
@click.argument("url")
@json_option
@store_option
def explain(url: str, store: Path, as_json: bool) -> None:
    """Explain the rank of the page at URL, where its cash came from, and why it was read or not."""
    from minicrawl.report.states.explanation import explain as explained

    with snapshot(store, ordered=True) as seen, progress("links") as tell:
        found = explained(seen, url, tell)
    if as_json:
        show_json(found.as_json())
        return
    show_facts(_facts(found))
    if found.givers:
        click.echo()
        sources = ((units(one.amount), f"{one.share:.1%}", one.url) for one in found.givers)
        show_list(SOURCE_HEADINGS, sources, texts=1)
    if found.fetches:
        click.echo()
        fetches = (
            (short_time(one.at), str(one.status or "-"), one.outcome, one.detail)
            for one in found.fetches
        )
        show_list(FETCH_HEADINGS, fetches, texts=2)


def _facts(found: Explanation) -> Iterator[tuple[str, str]]:
    yield "url", found.url
    if found.original:
        yield "original url", found.original
    if found.title:
        yield "title", found.title
    yield "state", found.state
    yield "importance", f"{percent(found.importance)}, rank {found.rank:,}"
    yield "", told(found.convergence)
    for score in found.ranks:
        yield (
            f"by {score.name}",
            "no score: the page was found later"
            if score.score is None
            else f"{percent(score.score)}, rank {score.rank:,}",
        )
    yield "cash", f"{units(found.cash)} units"
    yield "history", f"{units(found.history)} units"
    yield "depth", str(found.depth)
    yield "in-links", f"{found.inlinks:,}"
    yield "last read", found.last_fetched or "never"
    for url in found.near_duplicates:
        yield "near-duplicate", url
    if place := found.place:
        yield "in the queue", f"{place.of_all:,} of {place.all_waiting:,}"
        yield "on its host", f"{place.of_host:,} of {place.host_waiting:,}"
    for reason in found.reasons:
        yield "reason", reason


@click.command()
@click.argument("url")
@raw_option
@count_option(_SHOWN)
@json_option
@store_option
def backlinks(url: str, store: Path, n: int, raw: bool, as_json: bool) -> None:
    """Show the pages that link to the page at URL, the most important first.

    Links to redirects and duplicates of the page count as well. The first call builds an index of
    all links beside the store.
    """
    from minicrawl.report.links.backlinks import backlinks as linking_pages
    from minicrawl.report.links.written_links import links_to

    with snapshot(store) as seen, progress("index of links") as tell:
        if raw:
            found = links_to(seen, url, n, tell)
            # A link to a redirect or a duplicate of the page says which one it names.
            are_direct = not any(link.end for link in found)
            _show_raw(found, "target" if are_direct else "end", as_json)
            return
        _show_links(linking_pages(seen, url, n, tell), as_json)


@click.command()
@click.argument("url")
@raw_option
@count_option(_SHOWN)
@json_option
@store_option
def links(url: str, store: Path, n: int, raw: bool, as_json: bool) -> None:
    """Show the pages that the page at URL links to, the most important first."""
    from minicrawl.report.links.backlinks import links as linked_pages
    from minicrawl.report.links.written_links import links_of

    with snapshot(store) as seen:
        if raw:
            _show_raw(links_of(seen, url, n), "source", as_json)
            return
        _show_links(linked_pages(seen, url, n), as_json)


def _show_raw(found: list[WrittenLink], named: str, as_json: bool) -> None:
    """Show a table without empty columns and the column `named`, the page that the user gave."""
    from minicrawl.report.links.written_links import RAW_COLUMNS

    if as_json:
        show_json([link._asdict() for link in found])
        return
    names = ["state", *(name for name in RAW_COLUMNS if name not in {"state", named})]
    names = [name for name in names if any(getattr(link, name) for link in found)]
    lines = ([getattr(link, name) for name in names] for link in found)
    show_list(names, lines, texts=len(names))


def _show_links(found: Linked, as_json: bool) -> None:
    if as_json:
        show_json(found.as_json())
        return
    facts = [("url", found.url), ("stands for", found.stands_for), ("pages", f"{found.count:,}")]
    show_facts((name, value) for name, value in facts if value)
    if found.pages:
        click.echo()
        rows = ((percent(page.importance), page.state, page.url) for page in found.pages)
        show_list(LINK_HEADINGS, rows, texts=1)


# ================================================================ lists

_TEXTS = (
    *("url", "text", "target", "source", "original", "end", "through", "stands_for"),
    *("host", "title"),
)
_TIMES = ("first_fetched", "last_fetched", "at")
_USUAL_COLUMNS = "state,status,depth,inlinks,url,stands_for"

Command = Callable[..., Any]
Rows = Sequence[Sequence[object]]
Form = Literal["table", "csv", "json"]
Found = tuple[type[NamedTuple], Rows]
"""Kind of rows, and the rows."""
Finder = Callable[..., Found]
"""Function of a snapshot, a host (None for all) and further options."""


_host_option = click.option("--host", metavar="NAME", help="Only pages of this host.")


_exit_code_option = click.option(
    "--exit-code",
    "has_exit_code",
    is_flag=True,
    help="Exit 1 if anything is listed (for CI).",
)


def _form_options(command: Command) -> Command:
    """Pass `form`, in which to print rows."""

    @functools.wraps(command)
    def with_form(as_csv: bool, as_json: bool, **rest: Any) -> Any:
        if as_csv and as_json:
            raise click.UsageError("--csv and --json cannot be combined")
        form = "csv" if as_csv else "json" if as_json else "table"
        return command(form=form, **rest)

    csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
    return csv_option(json_option(with_form))


def _listing(
    finish: Callable[[Snapshot, Any], Rows] = lambda _seen, rows: rows,
    further: Callable[[Command], Command] = lambda command: command,
    fails: Callable[..., bool] = lambda _row, **_options: True,
    summary: Callable[[Snapshot], str] = lambda _seen: "",
) -> Callable[[Finder], click.Command]:
    """Make a command that shows rows as a table, CSV or JSON.

    `finish` post-processes the rows shown; `further` adds an option; `fails` tells, by a row and
    that option, if the row counts for --exit-code; `summary` is the line below a table.
    """

    def decorate(find: Finder) -> click.Command:
        @click.command(find.__name__, help=find.__doc__)
        @further
        @_host_option
        @count_option(_SHOWN)
        @_exit_code_option
        @_form_options
        @store_option
        def command(
            store: Path, host: str | None, n: int, has_exit_code: bool, form: Form, **rest: Any
        ) -> None:
            with snapshot(store) as seen:
                kind, rows = find(seen, host, **rest)
                shown = finish(seen, rows[: n or None])
                below = summary(seen) if form == "table" else ""
            _show_rows(form, kind._fields, shown)
            if below:
                click.echo(below)
            if form == "table" and len(rows) > n > 0:
                click.echo(f"{counted(len(rows) - n, 'more row')}: --n 0 shows all")
            if has_exit_code and any(fails(row, **rest) for row in rows):
                raise click.exceptions.Exit(1)

        return command

    return decorate


def _show_rows(form: Form, columns: Sequence[str], rows: Rows) -> None:
    match form:
        case "json":
            show_json([dict(zip(columns, row, strict=True)) for row in rows])
        case "csv":
            from minicrawl.report.files.rows import write_csv

            block: Block = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
            write_csv([block], sys.stdout.buffer, columns)
        case "table":
            _show_table(columns, rows)


def _show_table(columns: Sequence[str], rows: Rows) -> None:
    """Show a table, numbers first, without empty columns of text."""
    if not rows:
        click.echo(NONE)
        return
    places = range(len(columns))
    texts = [i for i in places if columns[i] in _TEXTS and any(row[i] for row in rows)]
    order = [*(i for i in places if columns[i] not in _TEXTS), *texts]
    lines = ([_cell(columns[i], row[i]) for i in order] for row in rows)
    show_list([columns[i] for i in order], lines, texts=len(texts))


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if name in _TIMES and sys.stdout.isatty():
        return short_time(str(value))
    if isinstance(value, float):
        return percent(value) if name == "importance" else units(value)
    return str(value)


class _Columns(click.ParamType[tuple[str, ...]]):
    """Names of columns, separated by commas."""

    name = "columns"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",")))
        for name in names:
            if name not in LIST_COLUMNS:
                self.fail(f"{name!r} is not one of {', '.join(LIST_COLUMNS)}", param, ctx)
        return names


@click.command()
@_host_option
@count_option(_SHOWN)
@click.option(
    "--state",
    "states",
    metavar="STATE",
    type=click.Choice([state.label for state in State if state is not State.FOREIGN]),
    multiple=True,
    help="Only pages in this state, such as not-found or moved. Repeatable.",
)
@click.option(
    "--sort",
    metavar="COLUMN",
    default="rank",
    show_default=True,
    help="Sort by this column; a leading - sorts descending.",
)
@click.option(
    "--columns",
    cls=ListOption,
    metavar="NAME,...",
    type=_Columns(),
    default=_USUAL_COLUMNS,
    show_default=True,
    help=f"Columns to show, from {', '.join(LIST_COLUMNS)}.",
)
@_form_options
@store_option
def pages(
    store: Path,
    host: str | None,
    n: int,
    states: tuple[str, ...],
    sort: str,
    columns: tuple[str, ...],
    form: Form,
) -> None:
    """List pages with selected columns."""
    column = sort.removeprefix("-")
    if column not in COLUMNS:
        raise click.UsageError(f"--sort {sort}: not one of {', '.join(COLUMNS)}")
    wanted = PageSelection(count=n, host=host, states=frozenset(map(State.labelled, states)))
    with snapshot(store) as seen:
        found = sorted_rows(seen, wanted, column, falling=sort.startswith("-"))
    _show_rows(form, columns, [[row[name] for name in columns] for row in found])


@_listing(
    further=click.option(
        "--since",
        metavar="TIME",
        type=Moment(),
        help="Show changes since this time (2026-11-22 or 2026-11-22T10:00, UTC) or age (12h, "
        "7d).  [default: since the last crawl began]",
    ),
)
def changes(seen: Snapshot, host: str | None, since: float | None) -> Found:
    """List new, changed and removed pages.

    The most important pages come first. `what` is new, changed, fixed (a dead target that is there
    again), moved, gone, failed or refused; `at` is when a crawl noticed. A kept page has changed if
    its main text differs, or its whole text where it has no main text; `old_words` and `new_words`
    are the lengths of both texts. Any other page has changed if a byte differs.
    """
    from minicrawl.report.states.changes import Change, changes as find_changes

    return Change, find_changes(seen, since, host)


def _with_texts(seen: Snapshot, rows: Any) -> Rows:
    from minicrawl.report.links.written_links import with_texts

    return with_texts(seen, rows)


def _all_verdicts(seen: Snapshot) -> str:
    from minicrawl.report.links.problems import linked_verdicts

    counts = (f"{count:,} {name}" for name, count in linked_verdicts(seen).items())
    return f"linked pages and files: {', '.join(counts)}"


@_listing(
    _with_texts,
    further=click.option(
        "--verdict",
        "verdicts",
        type=click.Choice(("dead", "blocked", "forbidden", "unchecked")),
        multiple=True,
        help="Only targets with this verdict; --exit-code counts them all. Repeatable.  [default: "
        "dead and blocked, of which --exit-code counts dead]",
    ),
    fails=lambda row, verdicts: row.verdict in {"dead", *verdicts},
    summary=_all_verdicts,
)
def broken(seen: Snapshot, host: str | None, verdicts: tuple[str, ...]) -> Found:
    """List broken links, most linked target first.

    The verdict on a link is dead if its target failed, directly or behind the redirects in
    `through`, or has a non-public address. It is blocked if the server blocks robots: people may
    see a page. It is forbidden if robots.txt forbids the target, and unchecked for the reason in
    `state`. The last line counts all linked pages and files.

    --host selects the pages that contain the links. `text` and `kind` describe the link, in a store
    of `crawl --keep links` or --keep pages.
    """
    from minicrawl.report.links.problems import BrokenLink, broken_links
    from minicrawl.report.links.verdicts import SHOWN, LinkVerdict

    chosen = [LinkVerdict[name.upper()] for name in verdicts] or SHOWN
    with progress("links") as tell:
        return BrokenLink, broken_links(seen, host, tell, chosen)


@_listing()
def redirects(seen: Snapshot, host: str | None) -> Found:
    """List redirects and their final targets, most linked first.

    `links` is the number of links to the redirect, `state` the state of its target, `through` the
    other redirects on the way. A loop, or a redirect to nowhere, has no target.
    """
    from minicrawl.report.links import problems

    with progress("links") as tell:
        return problems.Redirect, problems.redirects(seen, host, tell)


@_listing()
def duplicates(seen: Snapshot, host: str | None) -> Found:
    """List duplicate pages, largest group first.

    A duplicate names another page as canonical (canonical), has the same content (alias), or has a
    URL of a form that led to the same page before (twin).
    """
    from minicrawl.report.links import problems

    return problems.Duplicate, problems.duplicates(seen, host)


# ---------------------------------------------------------------- HTML report


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@store_option
def report(file: Path, store: Path) -> None:
    """Write an HTML report on a site to FILE.

    The report lists the issues of `minicrawl audit` with their pages, broken links, redirects and
    duplicates. It also shows the most important pages, the number of links per page, and a graph of
    the hosts. The file is self-contained.
    """
    from minicrawl.own_files import replacing
    from minicrawl.report.site.html_report import write_site_report
    from minicrawl.report.site.site_report import site_report

    with snapshot(store) as seen, progress("links") as tell:
        found = site_report(seen, time.time(), tell)
    with replacing(file) as written:
        write_site_report(found, written)
    click.echo(f"{file}: {len(found.sections)} sections", err=True)


# ================================================================ top
#
# `minicrawl top`: the most important pages or sites.


@click.command()
@selection_options(count=100)
@click.option("--by", metavar="NAME", default=OPIC, show_default=True, help="Order by this rank.")
@click.option(
    "--sites",
    is_flag=True,
    help="List sites, by cash from other sites; with --by, by the sum of their pages' scores.",
)
@click.option(
    "--rising",
    is_flag=True,
    help="Order by cash received since the last fetch, relative to the page's history (1: "
    "unchanged).",
)
@click.option(
    "--all",
    "takes_all",
    is_flag=True,
    help="Include redirects, duplicates and missing pages.",
)
@click.option(
    "--fold",
    is_flag=True,
    help="Show only the best of each group of near-duplicates, as found by `index`.",
)
@json_option
@store_option
def top(
    store: Path,
    selection: PageSelection,
    by: str,
    sites: bool,
    rising: bool,
    takes_all: bool,
    fold: bool,
    as_json: bool,
) -> None:
    """List the most important pages, fetched or not.

    The importance of a page is its share of all cash flow once the ranks have converged; until then
    it is estimated from the cash that has flowed. The last line gives the error. The rank is the
    place among all known pages. `found` numbers the pages in order of discovery.
    """
    _refuse_conflicts(selection, by, sites=sites, rising=rising, fold=fold)
    if takes_all and (sites or selection.unread):
        raise click.UsageError("--all is for pages that were read: leave out --sites and --unread")
    by = RISING if rising else by
    selection = replace(selection, by=by, only_pages=not takes_all, folds=fold)
    with snapshot(store) as seen:
        warn_of_unranked_pages(seen, [by])
        if sites:
            from minicrawl.report.graph.top_sites import top_sites

            with progress("links") as tell:
                ranked = top_sites(seen, selection.count, by, tell)
            _show_sites(seen, ranked, by, as_json)
            return
        if fold:
            refuse_without_near_duplicates(seen)
        found = top_pages(seen, selection)
        if as_json:
            show_json([page._asdict() for page in found])
            return
        _show_pages(found, by, fold=fold)
        tell_of_importance(seen)


def _show_pages(found: Iterable[RankedPage], by: str, *, fold: bool) -> None:
    def line(page: RankedPage) -> tuple[str, ...]:
        return (
            f"{page.rank:,}",
            *_score_beside(page.score, by),
            percent(page.importance),
            f"{page.inlinks:,}",
            str(page.depth),
            f"{page.found:,}",
            str(page.status or "-"),
            *((f"{page.near_duplicates:,}",) if fold else ()),
            page.url,
            page.title,
        )

    score, alike = () if by == OPIC else (by,), ("alike",) if fold else ()
    numbers = ("rank", *score, "importance", "in-links", "depth", "found", "status", *alike)
    show_list((*numbers, "url", "title"), map(line, found), texts=2)


def _score_beside(score: float | None, by: str) -> tuple[str, ...]:
    """Return the cells beside the rank: the score by another rank than the importance."""
    if by == OPIC:
        return ()
    return ("-" if score is None else f"{score:.2f}" if by == RISING else percent(score),)


def _refuse_conflicts(
    selection: PageSelection, by: str, *, sites: bool, rising: bool, fold: bool
) -> None:
    if rising and by != OPIC:
        raise click.UsageError("--rising is an order of its own: leave out --by")
    if sites and (rising or by == RISING):
        raise click.UsageError("--rising is an order of pages: leave out --sites")
    if sites and not selection.is_all:
        raise click.UsageError("--sites cannot be combined with --host, --unread and --fetched")
    if sites and fold:
        raise click.UsageError("--fold is for pages: leave out --sites")


def _show_sites(seen: Snapshot, sites: list[RankedSite], by: str, as_json: bool) -> None:
    if as_json:
        show_json([site._asdict() for site in sites])
        return
    lines = (
        (
            f"{site.rank:,}",
            *_score_beside(site.score, by),
            percent(site.importance),
            percent(site.pages_importance),
            f"{site.pages:,}",
            f"{site.fetched:,}",
            site.site,
        )
        for site in sites
    )
    score = () if by == OPIC else (by,)
    headings = ("rank", *score, "importance", "sum of its pages", "pages", "fetched", "site")
    show_list(headings, lines, texts=1)
    if by == OPIC:
        tell_of_importance(seen)
