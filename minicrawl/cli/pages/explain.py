"""Rank, state and links of one page: `minicrawl explain`, `backlinks` and `links`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.output import percent, short_time, show_facts, show_json, show_list, units
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import (
    count_option,
    json_option,
    store_option,
)
from minicrawl.report.saved_ranks import told
from minicrawl.report.snapshot import snapshot

if TYPE_CHECKING:
    from minicrawl.report.links.backlinks import Linked
    from minicrawl.report.links.written_links import WrittenLink
    from minicrawl.report.states.explanation import Explanation


SOURCE_HEADINGS = ("cash given", "share", "by")
FETCH_HEADINGS = ("fetched at", "status", "outcome", "detail")
LINK_HEADINGS = ("importance", "state", "url")

raw_option = click.option(
    "--raw",
    is_flag=True,
    help="Show links as the page has them, with text, rel and href; redirects are not followed. "
    "Needs a store of `crawl --keep links` or --keep pages.",
)
MOST_SHOWN = 100


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
@count_option(MOST_SHOWN)
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
@count_option(MOST_SHOWN)
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
