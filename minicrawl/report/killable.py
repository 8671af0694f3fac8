"""Child process that parses foreign bytes, and can be killed when it takes too long.

Parent and child exchange messages of bytes through two pipes. The child sends an empty message when
it is ready: starting has no deadline, since imports take as long as the disk does.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

from minicrawl.memory import limit_memory

_PATIENCE_S = 60.0
_NICE = 5


class KillableProcess:
    """Python process that runs `code` with arguments, as its parent sees it."""

    def __init__(self, code: str, arguments: Sequence[str]) -> None:
        """Start the process, and wait until it is ready."""
        self.child = subprocess.Popen(
            (sys.executable, "-c", code, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        assert self.child.stdin is not None, "it has a pipe"
        assert self.child.stdout is not None, "it has a pipe"
        self._asked = Connection(os.dup(self.child.stdin.fileno()), readable=False)
        self._answers = Connection(os.dup(self.child.stdout.fileno()), writable=False)
        # `Connection.poll` would make a poll object for each call, which is slower than reading.
        self._waiting = select.poll()
        self._waiting.register(self._answers, select.POLLIN)
        self.answer(_PATIENCE_S)

    def ask(self, message: bytes) -> None:
        """Send a message. A process that has ended does not answer it."""
        with suppress(BrokenPipeError):
            self._asked.send_bytes(message)

    def answer(self, within_s: float) -> bytes | None:
        """Return the next message of the process, or None if it is late or has ended."""
        if not self._waiting.poll(1000 * within_s):
            return None
        try:
            return self._answers.recv_bytes()
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        """Kill the process."""
        self._asked.close()
        self._answers.close()
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
        """Send a message. Raise BrokenPipeError when the parent has closed the pipe."""
        self._answers.send_bytes(message)
