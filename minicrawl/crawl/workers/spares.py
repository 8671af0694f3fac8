"""Child processes that are forked ahead, while this process has one thread and few modules.

A fresh interpreter takes 150 ms of processor time and 31 MB until it has loaded what a worker
needs; a fork of a process that has loaded it takes 5 ms and 21 MB. But only a process without
threads can fork safely, and its child has a copy of all that is open. So the command line forks its
workers before it opens a crawl, and a worker the child of its parser before it opens connections.
All other children are fresh interpreters: those that replace one that has ended, and those of
programs that import minicrawl.

Laws: a spare ends with its parent, even if that is killed. Of the parent's files it has stderr
alone. It runs its code as a fresh interpreter would. Spares that nobody took end with the context.
"""

import asyncio
import gc
import os
import signal
import socket
import sys
import traceback
from asyncio.subprocess import Process
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, NoReturn

from minicrawl.crawl.workers.blame_mark import SharedBlameMark
from minicrawl.memory.child_interpreter import end_with
from minicrawl.memory.measures import PROC

_STDIN, _STDOUT, _MARK = 0, 1, 3  # descriptors of a spare
_SELF = PROC / "self"


class ForkedProcess:
    """A forked child of this process, with the part of asyncio's `Process` that is needed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None  # once it has ended

    async def wait(self) -> int:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        ended = os.pidfd_open(self.pid)
        loop.add_reader(ended, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(ended)
            os.close(ended)
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


class StartedChild(NamedTuple):
    """A child, and what joins this process to it."""

    process: Process | ForkedProcess
    connection: socket.socket
    mark: SharedBlameMark


_SPARES = defaultdict[str, list[StartedChild]](list)  # by their code


def taken_spare(code: str) -> StartedChild | None:
    """Return a spare that runs this code, which is the caller's from now on; None without one."""
    return _SPARES[code].pop() if _SPARES[code] else None


@contextmanager
def spares(code: str, number: int) -> Iterator[None]:
    """Fork children that run this code, whose imports are best loaded before."""
    for _ in range(number):
        with suppress(OSError):  # a fresh interpreter may fail, too, and its caller knows why
            _fork(code)
    try:
        yield
    finally:
        while spare := taken_spare(code):
            spare.connection.close()
            spare.mark.close()
            os.kill(spare.process.pid, signal.SIGKILL)
            os.waitpid(spare.process.pid, 0)


def _fork(code: str) -> None:
    """Fork a spare if that is safe. Only Linux tells the threads, and ends orphans.

    Raises OSError if there can be none.
    """
    if sys.platform != "linux" or len([*(_SELF / "task").iterdir()]) > 1:
        return
    parent = os.getpid()
    os.close(os.pidfd_open(parent))  # an older system cannot tell the end of a child
    mark = SharedBlameMark()
    ours, theirs = socket.socketpair()
    with theirs:
        if not (pid := os.fork()):
            _run(parent, code, theirs, mark)
        _SPARES[code].append(StartedChild(ForkedProcess(pid), ours, mark))


def _run(parent: int, code: str, connection: socket.socket, mark: SharedBlameMark) -> NoReturn:
    """Run the code in the child, with the descriptors and signals of a fresh interpreter."""
    exit_code = 1
    try:
        end_with(parent, signal.SIGKILL)
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(connection.fileno(), _STDIN)
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        os.dup2(mark.descriptor, _MARK)
        highest = max(int(descriptor.name) for descriptor in (_SELF / "fd").iterdir())
        os.closerange(_MARK + 1, highest + 1)
        gc.freeze()  # objects whose descriptors were closed must not close those numbers again
        sys.stdin = open(_STDIN, closefd=False)  # noqa: SIM115  # open as long as the process
        sys.argv = ["-c", str(_MARK)]
        exec(code, {})
        exit_code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(exit_code)
