"""Keeps the index of a store up to date while a crawl runs, in a process of its own.

Laws: it reads the store as any reader does, so the crawl does nothing for it; it has the lowest
priority and rests most of the time; it ends when its parent does and may be killed at any time.
What it cannot do now, because another process writes the index or no page was kept yet, it tries
again later. What must be done anew for each page that comes, such as the words of links to the
pages that are there, it does seldom.
"""

import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from minicrawl.errors import MinicrawlError
from minicrawl.report.search.indexing import bring_up_to_date
from minicrawl.report.search.searching import keep_importance
from minicrawl.report.snapshot import snapshot
from minicrawl.store import tables
from minicrawl.store.reader import reading, search_folder

EVERY_S = 10.0
_REST = 3
"""Times as long as it worked: to open a large store takes its time, however little is new."""
SELDOM_S = 300.0
_SELDOM = 50
"""Times as long as it takes to complete the index."""


class IndexFollower:
    """Follows a store."""

    def __init__(self, store: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._known: tuple[str, int] | None = None
        self._completes_at = clock() + SELDOM_S

    def pauses(self) -> Iterator[float]:
        """Work, and say each time how long to wait then."""
        while True:
            began = self._clock()
            with suppress(MinicrawlError):
                self._follow()
            yield max(EVERY_S, _REST * (self._clock() - began))

    def _follow(self) -> None:
        if not self._store.is_file():
            return
        with reading(self._store) as connection:
            now = tables.birth(connection), tables.last_step(connection)
        completes = self._clock() >= self._completes_at
        if now == self._known and not completes:
            return
        self._bring_up_to_date(completes=completes)
        with snapshot(self._store) as seen:
            keep_importance(search_folder(self._store), seen)
        self._known = now

    def _bring_up_to_date(self, *, completes: bool) -> None:
        began = self._clock()
        bring_up_to_date(self._store, completes=completes)
        if completes:
            now = self._clock()
            self._completes_at = now + max(SELDOM_S, _SELDOM * (now - began))


COMMAND = "import os; os.nice(19); from minicrawl.report.search.following import main; main()"
"""What the process runs, at the lowest priority from its first moment on."""


def main() -> None:
    """The process: the store is its argument. It ends with its standard input."""
    for pause_s in IndexFollower(Path(sys.argv[1])).pauses():
        if select.select([sys.stdin], [], [], pause_s)[0]:
            return
