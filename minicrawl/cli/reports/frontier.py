"""`minicrawl frontier`: the pages that would be read next."""

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
    """Show the pages that would be read next if no host made the crawl wait.

    They are ordered by `given`, the units of cash from links and endowments. `cash` also has the
    unit that every page starts with, and its share of the cash of the virtual page.
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
