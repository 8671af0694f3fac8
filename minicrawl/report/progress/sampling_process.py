"""The process that takes samples of a crawl while it runs.

Laws: only this process imports the code that computes the figures, so a crawl that is sampled
starts as fast as any other. The last sample of a crawl that has ended shows its end.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from minicrawl.errors import MinicrawlError
from minicrawl.memory.child_interpreter import child_command
from minicrawl.report.progress.samples import EVERY_S, Sample, latest_sample

LAST_S = 60.0
"""Maximum time for the last sample."""
_MOMENT_S = 1.0
COMMAND = "import os; os.nice(19); from minicrawl.report.progress.live_sampler import main; main()"
"""Command of the process, which runs at the lowest priority from the start."""


@contextmanager
def sampling_beside(store: Path, graph_of: str) -> "Iterator[SamplingProcess]":
    """Run a sampling process beside a crawl, which never waits for it. It is killed on exit."""
    # The process has a session of its own, so that Ctrl-C reaches only the crawl, and a last sample
    # can be taken.
    arguments = child_command(COMMAND, str(store), graph_of)
    with Popen(
        arguments, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    ) as process:
        try:
            yield SamplingProcess(store, process)
        finally:
            process.kill()


class SamplingProcess:
    """Running sampling process. Its file is read at most as often as samples are written."""

    def __init__(self, store: Path, process: Popen[bytes]) -> None:
        self._store, self._process = store, process
        self._began = time.time()
        self._due = 0.0
        self._sample: Sample | None = None

    def finish(self, warn: Callable[[], None]) -> None:
        """Wait for the sample of the crawl's end; call `warn` if that takes more than a moment."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutExpired):
            try:
                self._process.wait(_MOMENT_S)
            except TimeoutExpired:
                warn()
                self._process.wait(LAST_S)

    def read(self) -> Sample | None:
        """Return the last sample since the crawl began, or None."""
        if time.monotonic() >= self._due:
            with suppress(MinicrawlError):  # a later call tries again
                sample = latest_sample(self._store)
                self._sample = sample if sample and sample.at >= self._began else None
            self._due = time.monotonic() + EVERY_S
        return self._sample
