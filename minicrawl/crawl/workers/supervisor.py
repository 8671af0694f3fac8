"""The processes that workers are, each from its start to its end, and the posts that they hold.

Laws: who waits for an answer of a process that ends hears of that, and whether the process was busy
with its question; no process and no socket is left when a post is closed. A worker that says
nothing for too long is ended: whatever it is busy with, there is no end of it in sight.

Relief: of a worker that is busier than the crawl's own process, that one does some pages.

Law: nobody is relieved who has time to spare: a worker that waits for the web does all of its work.

share   the part of a worker's pages that are done here
"""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from time import process_time
from typing import Any

from minicrawl.crawl.workers.blame import SharedBlameMark
from minicrawl.crawl.workers.channel import PickleChannel
from minicrawl.crawl.workers.visitor import WorkerConfig
from minicrawl.crawl.workers.worker import WorkerCommand

LOOK_EVERY_S = 0.1
BUSY = 0.5
"""Of the time on a processor: so much has nobody who waits for the web."""
_STEP, _MOST = 0.05, 0.5


class LoadShedder:
    """Of one worker."""

    def __init__(self, here_s: Callable[[], float] = process_time) -> None:
        self._here_s = here_s
        self._share = self._owed = 0.0
        self._looked = (0.0, 0.0, 0.0)

    def take_turn_here(self, now: float, there_s: float) -> bool:
        """Count one more page; whether it is done here.

        `there_s` is the processor time that the worker has used so far.
        """
        if now - self._looked[0] >= LOOK_EVERY_S:
            self._look(now, self._here_s(), there_s)
        self._owed += self._share
        if self._owed < 1:
            return False
        self._owed -= 1
        return True

    def _look(self, now: float, here_s: float, there_s: float) -> None:
        then, here_then, there_then = self._looked
        self._looked = now, here_s, there_s
        busy_here, busy_there = here_s - here_then, there_s - there_then
        if busy_there < BUSY * (now - then):
            self._share = 0.0
        elif busy_there > busy_here:
            self._share = min(self._share + _STEP, _MOST)
        else:
            self._share = max(self._share - _STEP, 0.0)


PATIENCE_S = 10.0
START_S = 30.0
"""For a worker that has not said anything yet: all that it imports comes from a disk."""
PARTING_S = 5.0
"""For a worker to end by itself."""
_LIFE = 0
"""The number of the question whether it lives; all others have numbers of their own."""
_SERVE = "from minicrawl.crawl.workers.worker import main; main()"


class WorkerLost(Exception):
    """It ended before it answered; of several questions perhaps over another one."""

    def __init__(self, *, is_to_blame: bool = True) -> None:
        super().__init__()
        self.is_to_blame = is_to_blame


class WorkerSlot:
    """Held by one worker at a time; who never got there has no successor."""

    def __init__(self, charge: WorkerConfig, patience_s: float = PATIENCE_S) -> None:
        self._charge, self._patience_s = charge, patience_s
        self._holder: WorkerProcess | None = None
        self._living: set[WorkerProcess] = set()

    @property
    def holder(self) -> WorkerProcess:
        """Who holds it now, be it somebody who is only about to come."""
        if self._holder is None or (self._holder.is_over and self._holder.was_there):
            self._holder = holder = WorkerProcess(self._charge, self._patience_s)
            self._living.add(holder)
            holder.life.add_done_callback(lambda _: self._living.discard(holder))
        return self._holder

    async def close(self) -> None:
        """All that held it, end."""
        await asyncio.gather(*(worker.close() for worker in self._living))


class WorkerProcess:
    """One process; it starts when this is made."""

    def __init__(self, charge: WorkerConfig, patience_s: float) -> None:
        self.was_there = False  # it has said something
        self.is_over = False
        self.cpu_s = 0.0  # that it had had when it last said something
        self.relief = LoadShedder()
        self._is_silent = False
        self._mark = SharedBlameMark()
        self._patience_s = patience_s
        self._line = PickleChannel(self._hear)
        self._line.say(charge)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count(_LIFE + 1)
        self.life = asyncio.create_task(self._live())
        self.life.add_done_callback(lambda _: self._end())

    @property
    def is_there(self) -> bool:
        """Whether it will answer at once."""
        return self.was_there and not self.is_over

    async def ask(self, wish: WorkerCommand, about: object) -> Any:
        """What it answers. Who stops waiting takes the question back."""
        if self.is_over:
            raise WorkerLost
        number, answer = next(self._numbers), asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._line.say((number, wish, about))
        try:
            return await answer
        except asyncio.CancelledError:
            self._line.say((number, None, None))
            raise
        finally:
            del self._answers[number]

    async def close(self) -> None:
        """It ends, unless it is about to."""
        if not self.is_over:
            self.life.cancel()
        await asyncio.wait((self.life,))

    def _hear(self, answer: tuple[int, Any, float]) -> None:
        number, came, self.cpu_s = answer
        self.was_there, self._is_silent = True, False
        waiting = self._answers.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(came)

    async def _live(self) -> None:
        """A worker that cannot be started is one that ends at once."""
        with suppress(OSError):
            ours, its = socket.socketpair()
            with ours:
                process = await _started(its, self._mark.descriptor)
                try:
                    await self._line.connect(ours)
                    await self._watch()
                finally:
                    self._leave()
                    await _part(process)

    async def _watch(self) -> None:
        """Until it ends, or was silent for too long."""
        loop = asyncio.get_running_loop()
        may_start_until = loop.time() + START_S
        while not self._line.ended.is_set() and not self._is_lost(loop.time() < may_start_until):
            self._is_silent = True
            self._line.say((_LIFE, WorkerCommand.LIVE, None))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience_s):
                    await self._line.ended.wait()

    def _is_lost(self, may_be_starting: bool) -> bool:
        return self._is_silent and (self.was_there or not may_be_starting)

    def _end(self) -> None:
        self._leave()
        self._mark.close()

    def _leave(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._line.close()
        busy_with = self._mark.question
        for number, answer in self._answers.items():
            if not answer.done():
                answer.set_exception(WorkerLost(is_to_blame=busy_with in (0, number)))


async def _started(connection: socket.socket, mark: int) -> Process:
    """Signals from the terminal are not for it: it ends when its socket is closed."""
    with connection:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _SERVE, str(mark)),
            stdin=connection.fileno(),
            pass_fds=(mark,),
            start_new_session=True,
        )


async def _part(process: Process) -> None:
    try:
        async with asyncio.timeout(PARTING_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
