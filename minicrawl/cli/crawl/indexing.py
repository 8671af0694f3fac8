"""`crawl --index`: the search index is kept up to date while a crawl runs.

Law: the crawl never waits for the process that does it. It is killed when the crawl is over, and
the rest is indexed then; after Ctrl-C, by the next crawl, or by `minicrawl index`.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING

from minicrawl.cli.search.indexing import bring_index_up_to_date
from minicrawl.errors import UsageError
from minicrawl.report.search.indexing import COMMAND
from minicrawl.search.index import check_installed

if TYPE_CHECKING:
    from minicrawl.app import Crawl


@contextmanager
def indexing_beside(crawl: "Crawl") -> Iterator[None]:
    """While it lasts, a process indexes what is read; without an error, all is indexed then."""
    storing = crawl.settings.storing
    if not storing.keeps_answers:
        raise UsageError("--index needs the pages: it does not go with --keep none or --keep links")
    check_installed()
    arguments = [sys.executable, "-c", COMMAND, str(storing.store)]
    with Popen(
        arguments, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    ) as process:
        try:
            yield
        finally:
            process.kill()
    bring_index_up_to_date(storing.store)
