"""`minicrawl index`, which prepares a search."""

import time
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli import PROGRAM
from minicrawl.cli.output import show_json
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.errors import NoRoom
from minicrawl.report.snapshot import snapshot
from minicrawl.search.importance_file import keep_importance, renew_importance
from minicrawl.store.reader import archive_folder, reading, search_folder
from minicrawl.wording import counted, visible

if TYPE_CHECKING:
    from minicrawl.search.indexing.index_folder import Completeness


def prepare_index(store: Path) -> None:
    """Build the index of a store if it has no usable one, and add the latest ranks."""
    from minicrawl.search.indexing.index_folder import has_index, why_useless

    folder = search_folder(store)
    with reading(store) as connection:
        is_usable = has_index(folder) and not why_useless(folder, connection)
    if not is_usable:
        bring_index_up_to_date(store)
    elif why := renew_importance(folder, store):
        click.echo(f"minicrawl: {visible(why)}", err=True)
    if not archive_folder(store).is_dir():
        click.echo(f"{archive_folder(store)} is gone: only the index is left", err=True)


def tell_of_lack(store: Path) -> "Completeness | None":
    """Say how many pages the index has if it is not complete, and return it."""
    from minicrawl.search.indexing.index_folder import lack_of

    with suppress(NoRoom):  # the search needs no room, and has said that the disk is full
        if lack := lack_of(store):
            click.echo(f"{lack}; `{PROGRAM} index` adds the rest", err=True)
            return lack
    return None


@click.command()
@click.option("--fresh", is_flag=True, help="Rebuild the index from scratch.")
@json_option
@store_with_pages_option
def index(store: Path, fresh: bool, *, as_json: bool) -> None:
    """Build or update the search index.

    The index is a folder beside the store, and may be deleted at any time. Repeat the command to
    continue an interrupted run. Pages that took too long to parse are listed, as they lack their
    markup or text; the exit code is then 1.
    """
    if bring_index_up_to_date(store, fresh=fresh, as_json=as_json):
        click.get_current_context().exit(1)


def bring_index_up_to_date(
    store: Path,
    *,
    fresh: bool = False,
    quiet: bool = False,
    as_json: bool = False,
    most_s: float = inf,
) -> int:
    """Bring the index up to date, store the importance of the pages, and print a summary.

    Say if `most_s` was not enough for all pages, and what limits have cut from their texts. Return
    the number of texts that are cut.
    """
    from minicrawl.search.indexing.index_folder import lack_of
    from minicrawl.search.indexing.rounds import bring_up_to_date, unlimited

    ends_at = time.monotonic() + most_s

    def is_over() -> bool:
        return time.monotonic() >= ends_at

    def say(text: str) -> None:
        click.echo(text, err=True)

    with progress("index") as report:
        done = bring_up_to_date(
            store, report, say, fresh=fresh, is_over=unlimited if most_s == inf else is_over
        )
    with snapshot(store) as view:
        keep_importance(search_folder(store), view)
    if as_json:
        counts = {"pages": done.of_all, "read": done.pages, "by_links": done.by_links}
        show_json(counts | {"cut": len(done.cut)})
    elif not quiet:
        click.echo(
            f"index: {counted(done.of_all, 'page')}, {done.pages:,} newly read, "
            f"{done.by_links:,} added or updated by links",
            err=True,
        )
    if most_s < inf and lack_of(store):
        say("index: --for is over; `minicrawl index` adds the other pages")
    for url, cut in done.cut.items():
        say(f"{visible(url)}: {visible(cut)}")
    return len(done.cut)
