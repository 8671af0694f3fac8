"""Keeps the index of a store up to date while a crawl runs, in a separate process.

Laws: the process reads the store like any reader, so the crawl does nothing for it. It has the
lowest priority and sleeps most of the time. It ends with its parent, and can be killed at any
time. If it cannot work, because another process writes the index or no page is archived yet, it
tries again later. Most rounds only add pages; those that complete the index, such as the anchors of
indexed pages, work in proportion to the whole, and are rare.
"""

import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from minicrawl.errors import MinicrawlError
from minicrawl.report.snapshot import snapshot
from minicrawl.search.importance_file import keep_importance
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.store import tables
from minicrawl.store.reader import reading, search_folder

EVERY_S = 10.0
_REST = 3
"""Pause as a multiple of the working time: opening a large store takes long, even without news."""
SELDOM_S = 300.0
_SELDOM = 50
"""Pause between completions, as a multiple of their duration."""


class IndexFollower:
    """Loop that keeps the index of a store up to date."""

    def __init__(self, store: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._known: tuple[str, int] | None = None
        self._completes_at = clock() + SELDOM_S

    def pauses(self) -> Iterator[float]:
        """Work, and yield how long to pause."""
        while True:
            began = self._clock()
            with suppress(MinicrawlError):
                self._follow()
            # Work a quarter of the time at most: the crawl needs the disk, and a search can wait.
            yield max(EVERY_S, _REST * (self._clock() - began))

    def _follow(self) -> None:
        if not self._store.is_file():
            return
        with reading(self._store) as connection:
            now = tables.birth(connection), tables.last_step(connection)
        completes = self._clock() >= self._completes_at
        if now == self._known and not completes:
            return
        began = self._clock()
        bring_up_to_date(self._store, completes=completes)
        if completes:
            now_s = self._clock()
            self._completes_at = now_s + max(SELDOM_S, _SELDOM * (now_s - began))
        with snapshot(self._store) as view:
            keep_importance(search_folder(self._store), view)
        self._known = now


COMMAND = "import os; os.nice(19); from minicrawl.search.indexing.following import follow; follow()"
"""Command of the process, which runs at the lowest priority from the start."""


def follow() -> None:
    """Run the process with the store as argument, until standard input ends."""
    for pause_s in IndexFollower(Path(sys.argv[1])).pauses():
        if select.select([sys.stdin], [], [], pause_s)[0]:
            return
