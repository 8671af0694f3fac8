"""`minicrawl explain`: the rank and state of a page, with reasons."""

from collections.abc import Iterator
from pathlib import Path

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import json_option, percent, store_option, units
from minicrawl.cli.common.tables import show_facts, show_json, show_list
from minicrawl.report import reasons
from minicrawl.report.snapshot import snapshot

SOURCE_HEADINGS = ("cash given", "share", "by")
FETCH_HEADINGS = ("fetched at", "status", "outcome", "detail")


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
        show_list(SOURCE_HEADINGS, map(_source_line, found.givers), texts=1)
    if found.fetches:
        click.echo()
        show_list(FETCH_HEADINGS, map(_fetch_line, found.fetches), texts=2)


def _facts(found: reasons.Explanation) -> Iterator[tuple[str, str]]:
    yield "url", found.url
    if found.original:
        yield "original url", found.original
    if found.title:
        yield "title", found.title
    yield "state", found.state
    yield "importance", f"{percent(found.importance)}, rank {found.rank:,}"
    for score in found.ranks:
        yield f"by {score.name}", _score(score)
    yield "cash", f"{units(found.cash)} units"
    yield "history", f"{units(found.history)} units"
    yield "depth", str(found.depth)
    yield "in-links", f"{found.inlinks:,}"
    yield "last fetched", found.last_fetched or "never"
    if place := found.place:
        yield "in the queue", f"{place.of_all:,} of {place.all_waiting:,}"
        yield "on its host", f"{place.of_host:,} of {place.host_waiting:,}"
    for reason in found.reasons:
        yield "reason", reason


def _score(found: reasons.RankScore) -> str:
    if found.score is None:
        return "no score: the page was found later"
    return f"{percent(found.score)}, rank {found.rank:,}"


def _source_line(source: reasons.CashSource) -> tuple[str, str, str]:
    return units(source.amount), f"{source.share:.1%}", source.url


def _fetch_line(fetch: reasons.Fetch) -> tuple[str, str, str, str]:
    return fetch.at, str(fetch.status or "-"), fetch.outcome, fetch.detail
