"""A process that parses foreign bytes for reports, and can be killed when it takes too long.

Parent and child exchange messages of bytes through two pipes. The child sends an empty message
when it is ready: starting has no deadline, since imports take as long as the disk does.
"""

import os
import select
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

from minicrawl.memory.child_interpreter import child_command
from minicrawl.memory.limits import SleepWatch, limit_memory, limit_processor_time

_NICE = 5


class KillableProcess:
    """Python process that runs `code` with arguments, as its parent sees it."""

    def __init__(self, code: str, arguments: Sequence[str]) -> None:
        """Start the process, and wait until it is ready."""
        # Not a thread, since Python cannot stop a thread in the middle of a parser. The process has
        # a session of its own, so that Ctrl-C reaches only its parent.
        self.child = subprocess.Popen(
            child_command(code, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        assert self.child.stdin is not None, "it has a pipe"
        assert self.child.stdout is not None, "it has a pipe"
        # Duplicates, since Popen and Connection both close their descriptors: with a shared one,
        # the second close would hit an unrelated file that has the number by then.
        self._asked = Connection(os.dup(self.child.stdin.fileno()), readable=False)
        self.answers = Connection(os.dup(self.child.stdout.fileno()), writable=False)
        # `Connection.poll` would make a poll object for each call, which is slower than reading.
        self._waiting = select.poll()
        self._waiting.register(self.answers, select.POLLIN)
        self.answer(None)

    def ask(self, message: bytes) -> None:
        """Send a message. A process that has ended does not answer it."""
        with suppress(BrokenPipeError):
            self._asked.send_bytes(message)

    def answer(self, patience_s: float | None) -> bytes | None:
        """Return the next message of the process, or None if it has ended or sleeps for so long."""
        watch = SleepWatch()
        while not self._waiting.poll(None if patience_s is None else 1000 * patience_s):
            assert patience_s is not None, "otherwise it waits for ever"
            if watch.sleeps(self.child.pid, patience_s):
                return None
        try:
            return self.answers.recv_bytes()
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        self._asked.close()
        self.answers.close()
        self.child.kill()
        with self.child:  # closes its pipes and reaps it
            pass


class Parent:
    """The parent, as the process sees it."""

    def __init__(self) -> None:
        """Lower the priority and the memory limit of this process."""
        os.nice(_NICE)
        limit_memory()
        self._asked = Connection(0, writable=False)
        self._answers = Connection(1, readable=False)

    def asked(self) -> bytes:
        """Wait for a message. Raise EOFError when the parent has closed the pipe."""
        return self._asked.recv_bytes()

    def answer(self, message: bytes) -> None:
        """Send a message, without a limit. Raise BrokenPipeError if the parent closed the pipe."""
        limit_processor_time(None)
        self._answers.send_bytes(message)
