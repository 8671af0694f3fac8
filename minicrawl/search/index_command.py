"""`minicrawl index`: brings the search index up to date."""

from pathlib import Path

import click

from minicrawl.cli.input_options import progress, store_with_pages_option
from minicrawl.report.snapshot import snapshot
from minicrawl.search.indexing import bring_up_to_date
from minicrawl.search.searching import keep_importance
from minicrawl.store.reader import search_folder
from minicrawl.wording import counted


@click.command()
@click.option("--fresh", is_flag=True, help="Rebuild the index from scratch.")
@store_with_pages_option
def index(store: Path, fresh: bool) -> None:
    """Build or update the search index.

    The index is a folder beside the store, and may be deleted at any time. Repeat the command to
    continue an interrupted run.
    """
    bring_index_up_to_date(store, fresh=fresh)


def bring_index_up_to_date(store: Path, *, fresh: bool = False) -> None:
    """Bring the index up to date, store the importance of the pages, and print a summary."""
    with progress("index") as tell:
        done = bring_up_to_date(store, tell, lambda text: click.echo(text, err=True), fresh=fresh)
    with snapshot(store) as seen:
        keep_importance(search_folder(store), seen)
    click.echo(
        f"index: {counted(done.of_all, 'page')}, {done.pages:,} read anew, "
        f"{done.by_links:,} by links to them",
        err=True,
    )
