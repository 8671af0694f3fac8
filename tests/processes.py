"""Child processes of tests."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import AnyStr

PATIENCE_S = 60.0
"""Timeout, on a busy machine, of something that takes a moment on an idle one."""


def run_python(
    *arguments: str | Path, folder: Path | None = None, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python to its end, with these environment variables beside those of the tests."""
    return subprocess.run(
        (sys.executable, *arguments),
        cwd=folder,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )


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


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep the machine busy with so many programs."""
    with ExitStack() as stack:
        for _ in range(count):
            loop = stack.enter_context(subprocess.Popen((sys.executable, "-c", "while True: pass")))
            stack.callback(loop.kill)
        yield
