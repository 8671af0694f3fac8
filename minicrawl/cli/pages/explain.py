"""Rank, state and links of one page: `minicrawl explain`, `backlinks` and `links`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.options import Command
from minicrawl.cli.output import percent, short_time, show_facts, show_json, show_list, units
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import count_option, json_option, store_option
from minicrawl.report.saved_ranks import convergence_text
from minicrawl.report.snapshot import snapshot

if TYPE_CHECKING:
    from minicrawl.report.links.backlinks import Linked
    from minicrawl.report.links.written_links import WrittenLink
    from minicrawl.report.states.explanation import Explanation


MOST_SHOWN = 100


def _link_options(command: Command) -> Command:
    """Pass `url`, `raw`, `n`, `as_json` and `store` to a command that lists links."""
    raw = click.option(
        "--raw",
        is_flag=True,
        help="Show links as the page has them, with text, rel and href; redirects are not "
        "followed. Needs a store of `crawl --keep links` or --keep pages.",
    )
    command = raw(count_option(MOST_SHOWN)(json_option(store_option(command))))
    return click.argument("url")(command)


@click.command()
@click.argument("url")
@json_option
@store_option
def explain(url: str, store: Path, as_json: bool) -> None:
    """Explain the rank of the page at URL, where its cash came from, and why it was read or not."""
    from minicrawl.report.states.explanation import explain as explained

    with snapshot(store, ordered=True) as view, progress("links") as advance:
        explanation = explained(view, url, advance)
    if as_json:
        show_json(explanation)
        return
    show_facts(_facts(explanation))
    if explanation.givers:
        click.echo()
        sources = ((units(row.amount), f"{row.share:.1%}", row.url) for row in explanation.givers)
        show_list(("cash given", "share", "by"), sources, texts=1)
    if explanation.fetches:
        click.echo()
        fetches = (
            (short_time(row.at), str(row.status or "-"), row.outcome, row.detail)
            for row in explanation.fetches
        )
        show_list(("fetched at", "status", "outcome", "detail"), fetches, texts=2)


def _facts(explanation: "Explanation") -> Iterator[tuple[str, str]]:
    yield "url", explanation.url
    if explanation.original:
        yield "original url", explanation.original
    if explanation.title:
        yield "title", explanation.title
    yield "state", explanation.state
    yield "importance", f"{percent(explanation.importance)}, rank {explanation.rank:,}"
    yield "", convergence_text(explanation.convergence)
    for score in explanation.ranks:
        yield (
            f"by {score.name}",
            "no score: the page was found later"
            if score.score is None
            else f"{percent(score.score)}, rank {score.rank:,}",
        )
    yield "cash", f"{units(explanation.cash)} units"
    yield "history", f"{units(explanation.history)} units"
    yield "depth", str(explanation.depth)
    yield "in-links", f"{explanation.inlinks:,}"
    yield "last read", explanation.last_fetched or "never"
    for url in explanation.near_duplicates:
        yield "near-duplicate", url
    if place := explanation.place:
        yield "in the queue", f"{place.of_all:,} of {place.all_waiting:,}"
        yield "on its host", f"{place.of_host:,} of {place.host_waiting:,}"
    for rule in explanation.host_settings:
        yield "setting", rule
    for reason in explanation.reasons:
        yield "reason", reason


@click.command()
@_link_options
def backlinks(url: str, store: Path, n: int, raw: bool, as_json: bool) -> None:
    """Show the pages that link to the page at URL, the most important first.

    Links to redirects and duplicates of the page count as well. The first call builds an index of
    all links beside the store.
    """
    from minicrawl.report.links.backlinks import backlinks as linking_pages
    from minicrawl.report.links.written_links import links_to

    with snapshot(store) as view, progress("index of links") as advance:
        if raw:
            links = links_to(view, url, n, advance)
            # A link to a redirect or a duplicate of the page says which one it names.
            are_direct = not any(link.end for link in links)
            _show_raw(links, "target" if are_direct else "end", as_json)
            return
        _show_links(linking_pages(view, url, n, advance), as_json)


@click.command()
@_link_options
def links(url: str, store: Path, n: int, raw: bool, as_json: bool) -> None:
    """Show the pages that the page at URL links to, the most important first."""
    from minicrawl.report.links.backlinks import links as linked_pages
    from minicrawl.report.links.written_links import links_of

    with snapshot(store) as view:
        if raw:
            _show_raw(links_of(view, url, n), "source", as_json)
            return
        _show_links(linked_pages(view, url, n), as_json)


def _show_raw(links: "list[WrittenLink]", named: str, as_json: bool) -> None:
    """Show a table without empty columns and the column `named`, the page that the user gave."""
    from minicrawl.report.links.written_links import RAW_COLUMNS

    if as_json:
        show_json(links)
        return
    names = ["state", *(name for name in RAW_COLUMNS if name not in {"state", named})]
    names = [name for name in names if any(getattr(link, name) for link in links)]
    lines = ([getattr(link, name) for name in names] for link in links)
    show_list(names, lines, texts=len(names))


def _show_links(linked: "Linked", as_json: bool) -> None:
    if as_json:
        show_json(linked)
        return
    facts = [("url", linked.url), ("stands for", linked.stands_for), ("pages", f"{linked.count:,}")]
    show_facts((name, value) for name, value in facts if value)
    if linked.pages:
        click.echo()
        rows = ((percent(page.importance), page.state, page.url) for page in linked.pages)
        show_list(("importance", "state", "url"), rows, texts=1)
