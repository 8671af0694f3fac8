"""`minicrawl explain`: why a page is where it is."""

from collections.abc import Iterator
from pathlib import Path

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import json_option, percent, store_option, units
from minicrawl.cli.common.tables import show_facts, show_json, show_list
from minicrawl.report import reasons
from minicrawl.report.snapshot import snapshot

GIVER_HEADINGS = ("given", "share", "by")
FETCH_HEADINGS = ("fetched at", "status", "outcome", "detail")


@click.command()
@click.argument("url")
@json_option
@store_option
def explain(url: str, store: Path, as_json: bool) -> None:
    """Explain where the page at URL stands, who gave it its cash, and why it is next or not."""
    with snapshot(store) as seen, progress("links") as tell:
        found = reasons.explain(seen, url, tell)
    if as_json:
        show_json(found.as_json())
        return
    show_facts(_facts(found))
    if found.givers:
        click.echo()
        show_list(GIVER_HEADINGS, map(_giver_line, found.givers), texts=1)
    if found.fetches:
        click.echo()
        show_list(FETCH_HEADINGS, map(_fetch_line, found.fetches), texts=2)


def _facts(found: reasons.Explanation) -> Iterator[tuple[str, str]]:
    yield "url", found.url
    if found.original:
        yield "found as", found.original
    if found.title:
        yield "title", found.title
    yield "state", found.state
    yield "importance", f"{percent(found.importance)}, rank {found.rank:,}"
    for standing in found.ranks:
        yield f"by {standing.name}", _standing(standing)
    yield "cash", f"{units(found.cash)} units"
    yield "history", f"{units(found.history)} units"
    yield "depth", str(found.depth)
    yield "in-links", f"{found.inlinks:,}"
    yield "last fetched", found.last_fetched or "never"
    if place := found.place:
        yield "in the queue", f"{place.of_all:,} of {place.all_waiting:,}"
        yield "on its host", f"{place.of_host:,} of {place.host_waiting:,}"
    for reason in found.reasons:
        yield "why", reason


def _standing(found: reasons.Standing) -> str:
    if found.score is None:
        return "it became known later"
    return f"{percent(found.score)}, rank {found.rank:,}"


def _giver_line(giver: reasons.Giver) -> tuple[str, str, str]:
    return units(giver.amount), f"{giver.share:.1%}", giver.url


def _fetch_line(fetch: reasons.Fetch) -> tuple[str, str, str, str]:
    return fetch.at, str(fetch.status or "-"), fetch.outcome, fetch.detail
