"""Starts a child process, carries calls to it, watches it and ends it.

Three kinds of children use this: workers (`worker`), which fetch and parse pages side by side, the
child of a parser (`parser_child`), which parses one large page at a time, and render workers.

Laws: a call to a child that ends fails with ChildLost, which tells whether the child was busy with
that call. A child that has to answer pings is ended when it has been silent for too long, as its
present work may never end. After `close` no process and no socket is left. However a child ends,
the number of the call that it was working on can be read.

call    number, command and argument; without a command, the call is cancelled
reply   number of the call, its result, and the child's processor time so far
mark    eight bytes of memory that both processes share: the number of the call that the child is
        busy with, 0 while it waits

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

The mark is memory because memory survives the child, however it ends. A message "I begin with 8"
could still be in the child's own buffer when it crashes.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from mmap import mmap
from types import coroutine
from typing import Any, TypeVar

from minicrawl.crawl.workers.messages import LENGTH_BYTES, packed_message
from minicrawl.memory import child_command

# ================================================================ channel
#
# A channel between two processes: a Unix socket that carries pickled values.
#
# A message is a length in four bytes, big-endian, and a pickle of that length. The length is needed
# because a socket is a stream of bytes: it keeps the order, but neither the number nor the sizes of
# the writes. If one end sends "a" and "b", each a pickle of 16 bytes, in one turn of its event
# loop, the other end may read the 40 bytes in two pieces:
#
#     sent       00 00 00 10  pickle of "a"   00 00 00 10  pickle of "b"     one write of 40 bytes
#     1st read   00 00 00 10  pickle of "a"   00 00                          22 bytes
#                "a" is delivered; the 2 bytes of an incomplete length stay in the buffer
#     2nd read                                      00 10  pickle of "b"     18 bytes
#                "b" is delivered; the buffer is empty
#
# A write costs a system call, and often wakes the other process. So messages sent within one turn
# of the event loop share a write. The number per write is limited to `AT_ONCE`: one write at the
# end of the turn was refused, because a crawl that sends 100 requests in one turn would leave its
# worker idle until the last of them is pickled.
#
# Pickles were preferred to JSON as messages hold bytes, tuples and functions. A pickle can run
# code, so both ends must trust each other: a channel joins a crawl to a child that it has started
# on the same machine.
#
# Law: each message arrives whole and in order, however the bytes are split on the way. A process
# without an event loop uses the functions of `messages` on the socket itself.

_READ_BUFFER_BYTES = 64 * 1024
AT_ONCE = 4
"""Most messages per write."""


class PickleChannel(asyncio.BufferedProtocol):
    """One end of a channel; `on_message` gets each message.

    Messages that are sent before `connect` wait for it.
    """

    def __init__(self, on_message: Callable[[Any], None]) -> None:
        self.ended = asyncio.Event()
        self._on_message = on_message
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._read_buffer = memoryview(bytearray(_READ_BUFFER_BYTES))
        self._received = bytearray()
        self._unsent: list[bytes] = []
        self._may_write = asyncio.Event()

    async def connect(self, connection: socket.socket) -> None:
        """Use this socket, and close it at the end."""
        await self._loop.create_unix_connection(lambda: self, sock=connection)

    def send(self, message: object) -> None:
        """Send a message. It is lost if the other end is gone."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(packed_message(message))
        if len(self._unsent) == AT_ONCE:
            self._flush()

    async def drain(self) -> None:
        """Wait until the socket has taken nearly all sent bytes, or the channel is closed."""
        self._flush()
        while not self._may_write.is_set():
            await self._may_write.wait()

    def close(self) -> None:
        """Stop sending and receiving."""
        self._may_write.set()
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        if self._unsent and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()

    # ------------------------------------------------------------ called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._may_write.set()
        self._flush()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        received = self._received
        received += self._read_buffer[:nbytes]
        begin = 0
        while (end := _end_of_message(received, begin)) <= len(received):
            with memoryview(received)[begin + LENGTH_BYTES : end] as packed:  # without a copy
                message = pickle.loads(packed)
            begin = end
            self._on_message(message)
        del received[:begin]

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set()
        self._may_write.set()


def _end_of_message(received: bytearray, begin: int) -> int:
    """Return the end of the message at `begin`, or the end of its length if that is incomplete."""
    body = begin + LENGTH_BYTES
    if len(received) < body:
        return body
    return body + int.from_bytes(received[begin:body], "big")


T = TypeVar("T")

_BYTES = 8
_ANONYMOUS = -1


class BlameMark:
    """The mark, in the memory of one of the two processes."""

    def __init__(self, descriptor: int = _ANONYMOUS) -> None:
        self._memory = mmap(descriptor, _BYTES)
        self._number = memoryview(self._memory).cast("Q")

    @property
    def call(self) -> int:
        """Number of the call that the child is busy with, 0 while it waits."""
        return self._number[0]

    @call.setter
    def call(self, number: int) -> None:
        self._number[0] = number

    def close(self) -> None:
        """Unmap the memory."""
        self._number.release()
        self._memory.close()


class SharedBlameMark(BlameMark):
    """Mark that is created here; a process that inherits the descriptor shares it."""

    def __init__(self) -> None:
        # A file rather than anonymous memory: a program that is executed inherits open descriptors,
        # but no mappings.
        from tempfile import TemporaryFile  # children do not need it

        self._file = TemporaryFile()  # noqa: SIM115  # open while processes may inherit it
        self._file.truncate(_BYTES)
        super().__init__(self._file.fileno())

    @property
    def descriptor(self) -> int:
        """Descriptor of the open file, for a child to inherit."""
        return self._file.fileno()

    def close(self) -> None:
        """Unmap the memory and close the file."""
        super().close()
        self._file.close()


async def marked(mark: BlameMark, call: int, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine with the mark set whenever it runs."""
    return await _marked(mark, call, begin())


@coroutine
def _marked(mark: BlameMark, call: int, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    step: Callable[[Any], Any] = work.send
    value: Any = None
    while True:
        # Only while the coroutine runs, not while it waits: a worker has many calls under way, and
        # the one that holds the processor is the one that can crash it or never end.
        mark.call = call
        try:
            waits_for = step(value)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            mark.call = 0
        try:
            step, value = work.send, (yield waits_for)
        except BaseException as thrown:
            step, value = work.throw, thrown


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
        self._mark = SharedBlameMark()
        self._channel = PickleChannel(self._on_reply)
        if job.config is not None:
            self._channel.send(job.config)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count(PING + 1)
        self.life = asyncio.create_task(self._live())
        self.life.add_done_callback(lambda _: self._end())

    @property
    def has_started(self) -> bool:
        """True if the child has ever replied."""
        return self._replies > 0

    @property
    def is_ready(self) -> bool:
        """True if the child has started and not ended."""
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
        """End the process, and wait until it has ended."""
        if not self.is_over:
            self.life.cancel()
        await asyncio.wait((self.life,))

    def _on_reply(self, reply: tuple[int, Any, float]) -> None:
        number, result, self.cpu_s = reply
        self._replies += 1
        waiting = self._waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(result)

    async def _live(self) -> None:
        """Run the child until it ends. If it cannot be started, it counts as ended at once."""
        with suppress(OSError):
            ours, theirs = socket.socketpair()
            with ours:
                process = await _start(self._job.code, theirs, self._mark.descriptor)
                self.pid = process.pid
                try:
                    await self._channel.connect(ours)
                    await self._watch()
                finally:
                    self._disconnect()
                    await _wait_or_kill(process, self._job.end_s)
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

    def _end(self) -> None:
        self._disconnect()
        self._mark.close()

    def _disconnect(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._channel.close()
        # Read before the child is killed and its memory unmapped: until then the mark names the
        # call that the child crashed or hangs in.
        busy_with = self._mark.call
        for number, reply in self._waiting.items():
            if not reply.done():
                # A child that ended between two calls (0) may have been ended by any of them.
                reply.set_exception(ChildLost(is_to_blame=busy_with in (0, number)))


async def _start(code: str, connection: socket.socket, mark: int) -> Process:
    """Start the process without the terminal's signals. It ends when its socket is closed."""
    # Our copy of the child's end is closed in any case. As long as it is open, the stream does not
    # end when the child dies, and nobody would notice.
    with connection:
        return await asyncio.create_subprocess_exec(
            *child_command(code, str(mark)),
            stdin=connection.fileno(),
            stdout=DEVNULL,
            pass_fds=(mark,),
            # Ctrl-C in a terminal reaches its whole process group. In our group the child would die
            # with its requests, to which a stopped crawl still gives `loop.GRACE_S` to end.
            start_new_session=True,
        )


async def _wait_or_kill(process: Process, end_s: float) -> None:
    try:
        async with asyncio.timeout(end_s):
            await process.wait()
    except TimeoutError:
        kill(process)
        await process.wait()


def kill(process: Process) -> None:
    """Kill a process that was not seen to end.

    `Process.kill` was rejected: it polls first. If the process has just ended, that takes the exit
    status from asyncio, which then logs an "unknown child process".
    """
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
