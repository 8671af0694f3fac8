"""Commands that run in this process."""

import contextlib
import io
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from minicrawl.cli import main


class Ran(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def run(line: str, folder: Path) -> Ran:
    """Run a command in a folder."""
    with contextlib.chdir(folder), _caught() as (out, err):
        code = main(shlex.split(line))
    return Ran(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


class _Stream(io.TextIOWrapper):
    buffer: io.BytesIO


@contextlib.contextmanager
def _caught() -> Iterator[tuple[_Stream, _Stream]]:
    out, err = (_Stream(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err
