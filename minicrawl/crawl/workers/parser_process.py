"""Parses large bodies in a child process, which is killed if one takes too long.

Laws: a body that takes too long to parse, by processor time, or ends the process, fails only its
own page, and its host is charged for the time. A waiting body is not held in memory. The host whose
bodies have cost least so far is next. A process that has workers uses the child of one of them, as
a child of its own would take 40 MB for a few bodies.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO, Any, TypeAlias, TypeVar

from minicrawl.crawl.hosts.fair_lock import FairLock
from minicrawl.crawl.workers.parser_child import ParserCommand
from minicrawl.crawl.workers.supervisor import ChildJob, ChildLost, ChildProcess
from minicrawl.memory.limits import PATIENCE_S, SleepWatch, why_ended
from minicrawl.ports import Timed

T = TypeVar("T")

MOST_TASKS = 2000
"""Tasks of a child before it is replaced, which frees memory that large bodies have fragmented."""
_PIECE_BYTES = 256 * 1024
CODE = "from minicrawl.crawl.workers.parser_child import main; main()"


RemoteParser: TypeAlias = Callable[
    [Callable[[bytes], Any], IO[bytes], str], Awaitable[Timed[Any] | None]
]
"""Runs a task on the body of a host in the child of another process; None if that cannot do it."""


class ParserLost(Exception):
    """The child ended while parsing a body, or was killed because it took too long."""

    cost_s = 0.0


class ParserProcess:
    """Runs one task at a time in a child process, which starts with the first task."""

    def __init__(
        self, max_s: float, most_tasks: int = MOST_TASKS, patience_s: float = PATIENCE_S
    ) -> None:
        """`max_s` is of processor time; a child is given up if it sleeps for `patience_s`, too."""
        self._max_s, self._most_tasks, self._patience_s = max_s, most_tasks, patience_s
        self._child: ChildProcess | None = None
        self._remote: RemoteParser | None = None
        self._done = 0
        self._lock = FairLock()

    def parse_remotely(self, remote: RemoteParser) -> None:
        """Have bodies parsed in the child of another process, as long as it can."""
        self._remote = remote

    async def run(self, task: Callable[[bytes], T], body: IO[bytes], host: str) -> Timed[T]:
        """Return the result of `task` for the body; `task` must be picklable."""
        async with self._lock.held_for(host):
            began = asyncio.get_running_loop().time()
            try:
                result = None
                if self._remote is not None and self._child is None:
                    result = await self._remote(task, body, host)
                result = result or await self._run(task, body)
            except ParserLost as lost:
                lost.cost_s = asyncio.get_running_loop().time() - began
                self._lock.charge(host, lost.cost_s)
                raise
            self._lock.charge(host, result.cost_s)
            return result

    async def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.close()

    async def _run(self, task: Callable[[bytes], T], body: IO[bytes]) -> Timed[T]:
        try:
            child = self._child or self._start()
        except OSError as error:
            raise ParserLost("the parser process ended") from error
        call, watch = asyncio.ensure_future(self._call(child, task, body)), SleepWatch()
        try:
            while not (await asyncio.wait((call,), timeout=self._patience_s))[0]:
                if child.pid is not None and watch.sleeps(child.pid, self._patience_s):
                    raise ChildLost
            result = call.result()
            self._done += 1
            if self._done >= self._most_tasks:
                await self.close()
                with suppress(OSError):  # the next task tries again
                    self._start()  # now, while nobody waits for it
            return result
        except (OSError, ChildLost) as error:
            await self.close()
            raise ParserLost(why_ended(child.returncode, self._max_s)) from error
        finally:
            if call.cancel() or call.cancelled() or call.exception():
                await self.close()

    async def _call(
        self, child: ChildProcess, task: Callable[[bytes], T], body: IO[bytes]
    ) -> Timed[T]:
        while piece := body.read(_PIECE_BYTES):
            await child.feed(ParserCommand.BODY, piece)
        result, cost_s = await child.call(ParserCommand.PARSE, (task, self._max_s))
        return Timed(result, cost_s)

    def _start(self) -> ChildProcess:
        self._done = 0
        self._child = ChildProcess(ChildJob(code=CODE, end_s=0.0))
        return self._child
