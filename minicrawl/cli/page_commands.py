"""Commands on one page: `minicrawl page`, `explain`, `backlinks` and `links`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from minicrawl.cli.options import (
    MAIN,
    MARKDOWN,
    count_option,
    json_option,
    refuse_without_text,
    store_option,
    store_with_pages_option,
)
from minicrawl.cli.output import (
    percent,
    progress,
    short_time,
    show_facts,
    show_json,
    show_list,
    units,
)
from minicrawl.errors import UsageError
from minicrawl.report import archived_pages as pages
from minicrawl.report import page_states as reasons
from minicrawl.report.archived_pages import PageVersion
from minicrawl.report.page_links import (
    RAW_COLUMNS,
    Linked,
    WrittenLink,
    links_of,
    links_to,
)
from minicrawl.report.page_links import backlinks as find_backlinks
from minicrawl.report.page_links import links as find_links
from minicrawl.report.snapshot import snapshot, told
from minicrawl.wording import iso, visible


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
    made = MAIN if only_main else MARKDOWN if markdown else None
    if made:
        refuse_without_text(made, f"--{made}")
    with snapshot(store) as seen:
        found = pages.version(seen, url, number, None if at is None else pages.moment(at))
        text = pages.made_text(seen, found, made) if made else None
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
    with snapshot(store) as seen:
        found = pages.versions(seen, url)
    if as_json:
        show_json([row._asdict() for row in found])
        return
    show_list(pages.VersionRow._fields, map(_version_line, found), texts=0)


def _version_line(row: pages.VersionRow) -> tuple[str, ...]:
    size = "-" if row.bytes is None else f"{row.bytes:,}"
    same = f"{row.same_as}" if row.same_as else "-"
    return f"{row.version}", row.fetched, f"{row.status or '-'}", size, same


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
    with snapshot(store, ordered=True) as seen, progress("links") as tell:
        found = reasons.explain(seen, url, tell)
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


def _facts(found: reasons.Explanation) -> Iterator[tuple[str, str]]:
    yield "url", found.url
    if found.original:
        yield "original url", found.original
    if found.title:
        yield "title", found.title
    yield "state", found.state
    yield "importance", f"{percent(found.importance)}, rank {found.rank:,}"
    yield "", told(found.convergence)
    for score in found.ranks:
        yield f"by {score.name}", _score(score)
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


def _score(found: reasons.RankScore) -> str:
    if found.score is None:
        return "no score: the page was found later"
    return f"{percent(found.score)}, rank {found.rank:,}"


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
    with snapshot(store) as seen, progress("index of links") as tell:
        if raw:
            found = links_to(seen, url, n, tell)
            # A link to a redirect or a duplicate of the page says which one it names.
            are_direct = not any(link.end for link in found)
            _show_raw(found, "target" if are_direct else "end", as_json)
            return
        _show_links(find_backlinks(seen, url, n, tell), as_json)


@click.command()
@click.argument("url")
@raw_option
@count_option(_SHOWN)
@json_option
@store_option
def links(url: str, store: Path, n: int, raw: bool, as_json: bool) -> None:
    """Show the pages that the page at URL links to, the most important first."""
    with snapshot(store) as seen:
        if raw:
            _show_raw(links_of(seen, url, n), "source", as_json)
            return
        _show_links(find_links(seen, url, n), as_json)


def _show_raw(found: list[WrittenLink], named: str, as_json: bool) -> None:
    """Show a table without empty columns and the column `named`, the page that the user gave."""
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
        pages_ = ((percent(page.importance), page.state, page.url) for page in found.pages)
        show_list(LINK_HEADINGS, pages_, texts=1)
