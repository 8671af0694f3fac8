"""The figures of the graph while a crawl runs: a process beside the crawl takes samples of them.

Law: the crawl never waits for that process. It is killed when the crawl is over.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from minicrawl.errors import MinicrawlError
from minicrawl.report.live.sampling import COMMAND, EVERY_S
from minicrawl.store.samples import Sample, latest_sample

LatestSample = Callable[[], Sample | None]


@contextmanager
def sampling(store: Path, graph_of: str) -> Iterator[LatestSample]:
    """While it lasts, samples are taken; gives what answers with the last one of this crawl."""
    arguments = [sys.executable, "-c", COMMAND, str(store), graph_of]
    with Popen(
        arguments, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    ) as process:
        try:
            yield _Latest(store).read
        finally:
            process.kill()


class _Latest:
    """Reads the file no more often than samples come."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._began = time.time()
        self._due = 0.0
        self._sample: Sample | None = None

    def read(self) -> Sample | None:
        """The last sample since the crawl began."""
        if time.monotonic() >= self._due:
            with suppress(MinicrawlError):  # what cannot be read now can be read later
                found = latest_sample(self._store)
                self._sample = found if found and found.at >= self._began else None
            self._due = time.monotonic() + EVERY_S
        return self._sample
