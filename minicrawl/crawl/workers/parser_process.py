"""Parses large bodies in a child process, which is killed if one takes too long.

Laws: a body that takes too long to parse, or ends the process, costs its page alone, and its host
is charged for the time. No body is held in memory while it waits. The host whose bodies have cost
least so far is next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TypeVar

from minicrawl.crawl.hosts.fairness import FairLock
from minicrawl.crawl.workers.parser_child import ParserCommand
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess
from minicrawl.ports import Timed

T = TypeVar("T")

MOST_TASKS = 2000
"""Of one process. Holes that large bodies leave in its memory end with it."""
_PIECE_BYTES = 256 * 1024
_CODE = "from minicrawl.crawl.workers.parser_child import main; main()"


class ParserLost(Exception):
    """The child was ended by what it parsed, or was killed because it took too long."""

    cost_s = 0.0


class ParserProcess:
    """Does one task after the other in a child process.

    The child starts with the first task. A new one replaces it after a task that ended it, and
    after `most_tasks`.
    """

    def __init__(self, max_s: float, most_tasks: int = MOST_TASKS) -> None:
        self._max_s, self._most_tasks = max_s, most_tasks
        self._child: ChildProcess | None = None
        self._done = 0
        self._lock = FairLock()

    async def run(self, task: Callable[[bytes], T], body: IO[bytes], host: str) -> Timed[T]:
        """The result of a function, which must be picklable, of the body."""
        async with self._lock.held_for(host):
            began = asyncio.get_running_loop().time()
            try:
                result = await self._run_in_time(task, body)
            except ParserLost as lost:
                lost.cost_s = asyncio.get_running_loop().time() - began
                self._lock.charge(host, lost.cost_s)
                raise
            self._lock.charge(host, result.cost_s)
            return result

    async def close(self) -> None:
        """Kill the child."""
        child, self._child = self._child, None
        if child is not None:
            await child.close()

    async def _run_in_time(self, task: Callable[[bytes], T], body: IO[bytes]) -> Timed[T]:
        is_done = False
        try:
            async with asyncio.timeout(self._max_s):
                result = await self._call(task, body)
            is_done = True
            await self._renew_when_due()
            return result
        except TimeoutError as error:
            detail = f"it was not read in {self._max_s:g} s (--max-reading)"
            raise ParserLost(detail) from error
        except (OSError, ChildLost) as error:
            raise ParserLost("it ended the process that read it") from error
        finally:
            if not is_done:
                await self.close()

    async def _call(self, task: Callable[[bytes], T], body: IO[bytes]) -> Timed[T]:
        child = self._child or self._start()
        while piece := body.read(_PIECE_BYTES):
            await child.feed(ParserCommand.BODY, piece)
        result, cost_s = await child.call(ParserCommand.PARSE, task)
        return Timed(result, cost_s)

    async def _renew_when_due(self) -> None:
        """After so many tasks; the new child starts while nobody waits for it."""
        self._done += 1
        if self._done >= self._most_tasks:
            await self.close()
            with suppress(OSError):  # the next task tries again
                self._start()

    def _start(self) -> ChildProcess:
        self._done = 0
        self._child = ChildProcess(ChildJob(code=_CODE, end_s=0.0))
        return self._child
