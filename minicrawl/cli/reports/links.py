"""`minicrawl backlinks` and `minicrawl links`: the links to a page, and from a page."""

from pathlib import Path

import click

from minicrawl.cli.common.progress import progress
from minicrawl.cli.common.stores import count_option, json_option, percent, store_option
from minicrawl.cli.common.tables import show_facts, show_json, show_list
from minicrawl.report.links import backlinks as report
from minicrawl.report.snapshot import snapshot

HEADINGS = ("importance", "state", "url")
_SHOWN = 100


@click.command()
@click.argument("url")
@count_option(_SHOWN)
@json_option
@store_option
def backlinks(url: str, store: Path, n: int, as_json: bool) -> None:
    """Show the pages that link to the page at URL, the most important first.

    Links to redirects and duplicates of the page count as well. The first call builds an index of
    all links beside the store.
    """
    with snapshot(store) as seen, progress("index of links") as tell:
        _show(report.backlinks(seen, url, n, tell), as_json)


@click.command()
@click.argument("url")
@count_option(_SHOWN)
@json_option
@store_option
def links(url: str, store: Path, n: int, as_json: bool) -> None:
    """Show the pages that the page at URL links to, the most important first."""
    with snapshot(store) as seen:
        _show(report.links(seen, url, n), as_json)


def _show(found: report.Linked, as_json: bool) -> None:
    if as_json:
        show_json(found.as_json())
        return
    facts = [("url", found.url), ("stands for", found.stands_for), ("pages", f"{found.count:,}")]
    show_facts((name, value) for name, value in facts if value)
    if found.pages:
        click.echo()
        show_list(HEADINGS, map(_line, found.pages), texts=1)


def _line(page: report.LinkedPage) -> tuple[str, str, str]:
    return percent(page.importance), page.state, page.url
