"""`minicrawl frontier`: what would be read next."""

from pathlib import Path

import click

from minicrawl.cli.common.stores import count_option, json_option, store_option, units
from minicrawl.cli.common.tables import show_json, show_list
from minicrawl.report.snapshot import snapshot
from minicrawl.report.waiting import WaitingPage, waiting

HEADINGS = ("rank", "given", "cash", "depth", "in-links", "url")


@click.command()
@count_option(20)
@json_option
@store_option
def frontier(store: Path, n: int, as_json: bool) -> None:
    """Show the pages that would be read next, if no host made the crawl wait.

    They are in the order of what links and endowments gave them, in units; the cash counts what
    they were born with and their part of the virtual page's gifts, too.
    """
    with snapshot(store) as seen:
        if as_json:
            show_json([page._asdict() for page in waiting(seen, n)])
        else:
            show_list(HEADINGS, map(_line, waiting(seen, n)), texts=1)


def _line(page: WaitingPage) -> tuple[str, ...]:
    return (
        f"{page.rank:,}",
        units(page.given),
        units(page.cash),
        str(page.depth),
        f"{page.inlinks:,}",
        page.url,
    )
