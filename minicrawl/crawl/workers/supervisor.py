"""Starts a child process, carries calls to it, watches it and ends it.

Three kinds of children use this: workers (`worker`), which fetch and parse pages side by side, the
child of a parser (`parser_child`), which parses one large page at a time, and render workers.

Laws: a call to a child that ends fails with ChildLost, which tells whether the child was busy with
that call. A child that has to answer pings is ended when it has been silent for too long, as its
present work may never end. After `close` no process and no socket is left. However a child ends,
the number of the call that it was working on can be read.

call    number, command and argument; without a command, the call is cancelled
reply   number of the call, its result, and the child's processor time so far
mark    number of the call that the child is busy with, 0 while it waits (see `blame_mark`)

A child has many calls under way, but only one of them holds the processor at any moment. Only that
one can crash the child or never end, so the mark names one call, and the others are innocent:

    at       child                                  mark    crawl
    0.0 s    calls 7 and 8 wait for their servers   0
    0.2 s    the response of 8 is parsed            8
    0.3 s    the parser crashes the process         8       the stream ends; 8 fails as the call to
                                                            blame, 7 as one that is not

If the parser never ended instead, no ping would be answered for `silence_s`. The crawl would read
the mark, fail both calls in the same way, close the stream, and kill the child `end_s` later. A
child that ends with the mark at 0 has ended between two calls: each of them may be the cause, and
all are to blame.
"""

import asyncio
import os
import signal
import socket
from asyncio.subprocess import DEVNULL, Process
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from minicrawl.crawl.workers.blame_mark import BlameMark, SharedBlameMark
from minicrawl.crawl.workers.channel import PickleChannel
from minicrawl.crawl.workers.spares import ForkedProcess, StartedChild, taken_spare
from minicrawl.memory.child_interpreter import child_command

START_S = 30.0
"""Time for a child that is pinged to send its first reply: it reads all its imports from disk."""
PING = 0
"""Command that a child replies to at once, and the call number of commands that nobody awaits."""


class ChildLost(Exception):
    """The child ended before it replied, perhaps because of another call."""

    def __init__(self, *, is_to_blame: bool = True) -> None:
        super().__init__()
        self.is_to_blame = is_to_blame


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildJob:
    """Work of a child, and the times after which it is ended.

    `code` is what Python runs. It finds the channel at stdin, the descriptor of the blame mark in
    `sys.argv`, and `config`, unless that is None, as the first message.
    """

    code: str
    config: object = None
    silence_s: float | None = None  # a child that is silent for longer is ended; None: never
    end_s: float  # time to end by itself once its channel is closed; then it is killed


class ChildProcess:
    """One child process. It starts with this object."""

    def __init__(self, job: ChildJob) -> None:
        self.is_over = False
        self.cpu_s = 0.0  # as of its last reply
        self.pid: int | None = None
        self.returncode: int | None = None  # once it has ended
        self._job = job
        self._replies = 0
        self._mark: BlameMark | None = None  # until it has started
        self._channel = PickleChannel(self._reply)
        if job.config is not None:
            self._channel.send(job.config)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count(PING + 1)
        self.life = asyncio.create_task(self._live())
        self.life.add_done_callback(lambda _: self._disconnect())

    @property
    def has_started(self) -> bool:
        return self._replies > 0

    @property
    def is_ready(self) -> bool:
        return self._replies > 0 and not self.is_over

    async def call(self, command: int, argument: object) -> Any:
        """Return the result of a command. A caller that is cancelled cancels the call."""
        if self.is_over:
            raise ChildLost
        number, reply = next(self._numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = reply
        self._channel.send((number, int(command), argument))  # an enum takes long to unpack
        try:
            return await reply
        except asyncio.CancelledError:
            self._channel.send((number, None, None))
            raise
        finally:
            del self._waiting[number]

    async def feed(self, command: int, argument: object) -> None:
        """Send a command that has no reply. Waits while the child is slow to read."""
        if self.is_over:
            raise ChildLost
        self._channel.send((PING, command, argument))
        await self._channel.drain()
        # Asked once more: a channel that ended while it was drained has lost the command, and
        # nobody waits for a reply that would fail.
        if self._channel.ended.is_set():
            raise ChildLost

    async def finish(self, longest_s: float) -> None:
        """End the process when all calls have replies, or after `longest_s` at the latest."""
        with suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                # Callers remove their calls from `_waiting` when they run next. Without the turn of
                # the loop below, the wait would return at once, and this loop would spin until they
                # have run.
                while self._waiting:
                    await asyncio.wait(tuple(self._waiting.values()))
                    await asyncio.sleep(0)
        await self.close()

    async def close(self) -> None:
        if not self.is_over:
            self.life.cancel()
        await asyncio.wait((self.life,))

    def _reply(self, reply: tuple[int, Any, float]) -> None:
        number, result, self.cpu_s = reply
        self._replies += 1
        waiting = self._waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(result)

    async def _live(self) -> None:
        """Run the child until it ends. If it cannot be started, it counts as ended at once."""
        with suppress(OSError):
            started = taken_spare(self._job.code) or await _started(self._job.code)
            process, self._mark, self.pid = started.process, started.mark, started.process.pid
            with started.connection, closing(started.mark):
                try:
                    await self._channel.connect(started.connection)
                    await self._watch()
                finally:
                    self._disconnect()
                    try:
                        async with asyncio.timeout(self._job.end_s):
                            await process.wait()
                    except TimeoutError:
                        kill(process)
                        await process.wait()
                    self.returncode = process.returncode

    async def _watch(self) -> None:
        """Return when the child ends or has been silent for too long."""
        silence_s = self._job.silence_s
        loop = asyncio.get_running_loop()
        must_have_started = loop.time() + START_S
        replies_before = -1
        while not self._channel.ended.is_set():
            # Any reply counts, not only that of the ping: a child that answers calls is alive. A
            # child that has never replied gets `START_S` instead, because its imports come from a
            # disk that may be busy.
            is_silent = self._replies == replies_before
            if is_silent and (self._replies or loop.time() >= must_have_started):
                return
            if silence_s is not None:
                replies_before = self._replies
                self._channel.send((PING, PING, None))
            with suppress(TimeoutError):
                async with asyncio.timeout(silence_s):
                    await self._channel.ended.wait()

    def _disconnect(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._channel.close()
        # Read before the child is killed and its memory unmapped: until then the mark names the
        # call that the child crashed or hangs in.
        busy_with = 0 if self._mark is None else self._mark.call
        for number, reply in self._waiting.items():
            if not reply.done():
                # A child that ended between two calls (0) may have been ended by any of them.
                reply.set_exception(ChildLost(is_to_blame=busy_with in (0, number)))


async def _started(code: str) -> StartedChild:
    """Start a fresh interpreter without the terminal's signals; it ends when its socket closes."""
    with ExitStack() as until_started:
        mark = until_started.enter_context(closing(SharedBlameMark()))
        ours, theirs = socket.socketpair()
        until_started.enter_context(ours)
        # Our copy of the child's end is closed in any case. As long as it is open, the stream does
        # not end when the child dies, and nobody would notice.
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *child_command(code, str(mark.descriptor)),
                stdin=theirs.fileno(),
                stdout=DEVNULL,
                pass_fds=(mark.descriptor,),
                # Ctrl-C in a terminal reaches its whole process group. In our group the child would
                # die with its requests, to which a stopped crawl still gives `loop.GRACE_S` to end.
                start_new_session=True,
            )
        until_started.pop_all()
    return StartedChild(process, ours, mark)


def kill(process: Process | ForkedProcess) -> None:
    """Kill a process that was not seen to end.

    `Process.kill` was rejected: it polls first. If the process has just ended, that takes the exit
    status from asyncio, which then logs an "unknown child process".
    """
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
