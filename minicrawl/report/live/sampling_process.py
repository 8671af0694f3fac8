"""The process that samples a crawl: it is started, its last sample is read, and it is killed.

Law: who crawls imports nothing for it. What computes the figures is imported by the process itself,
and a crawl that is watched starts as fast as another one.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from minicrawl.errors import MinicrawlError
from minicrawl.store.beside.samples import Sample, latest_sample

EVERY_S = 2.0
LatestSample = Callable[[], Sample | None]
COMMAND = "import os; os.nice(19); from minicrawl.report.live.sampling import main; main()"
"""What the process runs, at the lowest priority from its first moment on."""


@contextmanager
def sampling_beside(store: Path, graph_of: str) -> Iterator[LatestSample]:
    """While it lasts, a process samples a crawl; gives what answers with its last sample.

    The crawl never waits for that process. It is killed when the crawl is over.
    """
    arguments = [sys.executable, "-c", COMMAND, str(store), graph_of]
    with Popen(
        arguments, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    ) as process:
        try:
            yield _LatestSample(store).read
        finally:
            process.kill()


class _LatestSample:
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
