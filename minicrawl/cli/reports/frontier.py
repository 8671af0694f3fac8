"""`minicrawl frontier`: the pages that would be read next."""

from pathlib import Path

import click

from minicrawl.cli.common.stores import count_option, json_option, store_option, units
from minicrawl.cli.common.tables import show_json, show_list
from minicrawl.report.snapshot import snapshot
from minicrawl.report.waiting import WaitingPage, waiting

HEADINGS = ("rank", "key", "given", "cash", "depth", "in-links", "url")


@click.command()
@count_option(20)
@json_option
@store_option
def frontier(store: Path, n: int, as_json: bool) -> None:
    """Show the pages that would be read next if no host made the crawl wait.

    They are ordered by `key`, the units of cash that a page is as good as. In the order greedy that
    is the unit that every page starts with, and `given`, which came from links and endowments. In
    the order siblings it also says what pages that were found together with it have led to. `cash`
    has a share of the cash of the virtual page as well.
    """
    with snapshot(store, ordered=True) as seen:
        if as_json:
            show_json([page._asdict() for page in waiting(seen, n)])
        else:
            show_list(HEADINGS, map(_line, waiting(seen, n)), texts=1)


def _line(page: WaitingPage) -> tuple[str, ...]:
    return (
        f"{page.rank:,}",
        units(page.key),
        units(page.given),
        units(page.cash),
        str(page.depth),
        f"{page.inlinks:,}",
        page.url,
    )
