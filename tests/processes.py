"""Child processes of tests."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import AnyStr

PATIENCE_S = 60.0
"""Timeout, on a busy machine, of something that takes a moment on an idle one."""


@contextmanager
def killed_on_failure(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """Wait until the process ends, as `with` does; a test that fails or runs out of time kills it.

    Without the kill the end of the `with` block would wait for ever for a child that hangs.
    """
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
