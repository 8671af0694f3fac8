"""The interpreter of a child process, which ends with its parent.

Law: a child ends with the process that started it, even if that is killed. Otherwise the orphan
would go on with what nobody waits for, and hold locks that the next command needs. A closed pipe
is not enough: a child that parses or indexes reads it only when it has finished.
"""

import ctypes
import os
import signal
import sys

from minicrawl.memory.garbage_collector import load_modules_quickly

OWN_PYTHON = (sys.executable, "-P")
"""Command that runs Python in another process. Without -P, a module in the current folder, which
may be a stranger's, would be imported in place of an installed one.
"""
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h


def child_command(code: str, *arguments: str, end_by: int = signal.SIGKILL) -> tuple[str, ...]:
    """Return the command of a child that runs Python code and ends with the calling thread.

    `end_by` is the signal that ends it.
    """
    ending = f"from {__name__} import end_with; end_with({os.getpid()}, {end_by:d})"
    return (*OWN_PYTHON, "-c", f"{ending}\n{code}", *arguments)


def end_with(parent: int, end_by: int) -> None:
    """Have the system send this process a signal when its parent ends, before modules load."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, int(end_by))
    if os.getppid() != parent:  # it ended before the call took effect
        os._exit(1)
    load_modules_quickly()
