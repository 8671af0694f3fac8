"""The worker processes, as the crawl sees them: each in its slot, and how much work it is given.

A worker that is busier than the crawl's own process sheds load: that process does some of its
pages.

Law: a worker that has time to spare sheds nothing; waiting for the web is not work.

share   the part of a worker's pages that are done in the crawl's process
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import process_time

from minicrawl.crawl.workers.supervisor import ChildJob, ChildProcess
from minicrawl.crawl.workers.visitor import WorkerConfig

LOOK_EVERY_S = 0.1
BUSY = 0.5
"""Of the time on a processor. A worker that mostly waits for the web uses less."""
_STEP, _MOST = 0.05, 0.5

SILENCE_S = 10.0
_END_S = 5.0
_CODE = "from minicrawl.crawl.workers.worker import main; main()"


class LoadShedder:
    """Decides which pages of one worker are done in the crawl's process."""

    def __init__(self, own_cpu_s: Callable[[], float] = process_time) -> None:
        self._own_cpu_s = own_cpu_s
        self._share = self._owed = 0.0
        self._looked = (0.0, 0.0, 0.0)

    def shed(self, now: float, worker_cpu_s: float) -> bool:
        """Decide about the next page: True if the crawl's process does it."""
        if now - self._looked[0] >= LOOK_EVERY_S:
            self._look(now, self._own_cpu_s(), worker_cpu_s)
        self._owed += self._share
        if self._owed < 1:
            return False
        self._owed -= 1
        return True

    def _look(self, now: float, own_cpu_s: float, worker_cpu_s: float) -> None:
        then, own_before_s, worker_before_s = self._looked
        self._looked = now, own_cpu_s, worker_cpu_s
        own_s, worker_s = own_cpu_s - own_before_s, worker_cpu_s - worker_before_s
        if worker_s < BUSY * (now - then):
            self._share = 0.0
        elif worker_s > own_s:
            self._share = min(self._share + _STEP, _MOST)
        else:
            self._share = max(self._share - _STEP, 0.0)


class WorkerProcess(ChildProcess):
    """A child that fetches and parses pages."""

    def __init__(self, config: WorkerConfig, silence_s: float) -> None:
        super().__init__(ChildJob(code=_CODE, config=config, silence_s=silence_s, end_s=_END_S))
        self.load_shedder = LoadShedder()


class WorkerSlot:
    """Holds one worker at a time. A worker that never started is not replaced."""

    def __init__(self, config: WorkerConfig, silence_s: float = SILENCE_S) -> None:
        self._config, self._silence_s = config, silence_s
        self._worker: WorkerProcess | None = None
        self._living: set[WorkerProcess] = set()

    @property
    def worker(self) -> WorkerProcess:
        """The current worker, which may be still about to start."""
        if self._worker is None or (self._worker.is_over and self._worker.has_started):
            self._worker = worker = WorkerProcess(self._config, self._silence_s)
            self._living.add(worker)
            worker.life.add_done_callback(lambda _: self._living.discard(worker))
        return self._worker

    async def close(self) -> None:
        """End all processes that this slot has held."""
        await asyncio.gather(*(worker.close() for worker in self._living))
