"""Starts and ends the process that samples a crawl, and reads its last sample.

Laws: only the sampling process imports the code that computes the figures, so a crawl that is
sampled starts as fast as any other. The last sample of a crawl that has ended shows its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from minicrawl.errors import MinicrawlError
from minicrawl.memory.child_interpreter import child_command
from minicrawl.report.progress.samples import Sample, fresh_sample, latest_sample
from minicrawl.store import questions, tables
from minicrawl.store.reader import reading

EVERY_S = 2.0
LAST_S = 60.0
"""Maximum time for the last sample."""
MOST_AT_ONCE = 50_000
"""Maximum number of pages whose graph is measured without an explicit request, in about 1 s."""
_MOMENT_S = 1.0
COMMAND = "import os; os.nice(19); from minicrawl.report.progress.live_sampler import main; main()"
"""Command of the process, which runs at the lowest priority from the start."""


def shown_sample(
    store: Path,
    graph_of: str,
    *,
    is_running: bool,
    even_of_many: bool = False,
    measured: Sample | None = None,
) -> Sample | None:
    """Return current figures of the graph: stored or `measured` ones if still valid, else new ones.

    A graph of many pages is measured only with `even_of_many`; otherwise its last sample is
    returned.
    """
    sample = fresh_sample(store, graph_of, time.time(), is_running=is_running)
    if sample is not None:
        return sample
    with reading(store) as connection:
        pages, step = questions.pages_known(connection), tables.last_step(connection)
    if measured is not None and (measured.step, measured.graph_of) == (step, graph_of):
        return measured
    if pages <= MOST_AT_ONCE or even_of_many:
        from minicrawl.report.progress.live_sampler import sampled_now

        return sampled_now(store, graph_of)
    last = latest_sample(store)
    return last if last is not None and last.graph_of == graph_of else None


@contextmanager
def sampling_beside(store: Path, graph_of: str) -> Iterator[SamplingProcess]:
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
