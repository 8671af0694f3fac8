"""`crawl --index`: keeps the search index up to date while a crawl runs.

Law: the crawl never waits for the indexing process. At the end of the crawl that process is killed,
and the rest is indexed, unless the time of `--for` is over; then, and after Ctrl-C, the next crawl
or `minicrawl index` does that.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from math import inf
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING

import click

from minicrawl.cli.companions import Companion, CrawlRequest
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.memory.child_interpreter import child_command

if TYPE_CHECKING:
    from minicrawl.app import Crawl


class Indexing(Companion):
    """Companion of a crawl that keeps the search index up to date."""

    options = (
        click.option(
            "--index",
            "has_index",
            is_flag=True,
            help="Keep the search index up to date in a low-priority process. Needs --keep pages "
            "or text.",
        ),
    )

    def beside(self, crawl: "Crawl", request: CrawlRequest) -> AbstractContextManager[None]:
        """Index pages while the crawl runs, and the rest after it."""
        if not request.given["has_index"]:
            return nullcontext()
        return _indexing_beside(crawl, quiet=request.given["quiet"])

    def next_commands(self, store: Path) -> Sequence[str]:
        """Return the search, if its index is complete."""
        from minicrawl.store.reader import search_folder  # deferred: it loads sqlite3

        folder = search_folder(store)
        if not (folder / "notes.db").is_file():
            return ()
        from minicrawl.search.indexing.index_folder import has_index, lack_of

        with suppress(MinicrawlError):  # a damaged index is reported by the next search
            if has_index(folder) and lack_of(store) is None:
                return ("search WORDS",)
        return ()


@contextmanager
def _indexing_beside(crawl: "Crawl", *, quiet: bool) -> Iterator[None]:
    from minicrawl.crawl.loop import GRACE_S
    from minicrawl.search.commands.index_command import bring_index_up_to_date
    from minicrawl.search.index import check_installed
    from minicrawl.search.indexing.following import COMMAND

    storing, seconds = crawl.settings.storing, crawl.settings.budget.seconds
    # As long as requests that are under way at the end of --for may take to end.
    ends_at = inf if seconds is None else time.monotonic() + seconds + GRACE_S
    if not storing.keeps_answers:
        raise UsageError("--index needs the pages: it does not go with --keep none or --keep links")
    check_installed()
    arguments = child_command(COMMAND, str(storing.store))
    with Popen(
        arguments, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    ) as process:
        try:
            yield
        finally:
            # Killing it is safe at any moment, and quicker than waiting for its round to end: the
            # work after the last watermark is done again below.
            process.kill()
    bring_index_up_to_date(storing.store, quiet=quiet, most_s=ends_at - time.monotonic())
