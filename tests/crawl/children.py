"""Child processes and open files of the test process, read from `/proc`."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minicrawl.crawl.workers.parser_process import ParserProcess


def children(of: int | None = None) -> list[int]:
    """Return the children of a process, zombies included; by default, of this process."""
    tasks = Path(f"/proc/{of or os.getpid()}/task")
    return sorted(int(child) for task in tasks.iterdir() for child in _started_by(task))


def _started_by(task: Path) -> list[str]:
    """Return the children of a thread, and none of a thread that has just ended."""
    with suppress(FileNotFoundError):
        return (task / "children").read_text().split()
    return []


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Check that a block leaves no process and no open file behind.

    Garbage of earlier tests is collected first. Otherwise its files may be closed in the block.
    """
    gc.collect()
    before = children(), open_files()
    yield
    after = children(), open_files()
    assert after == before, (after, before)


def open_files() -> list[str]:
    """Return the target of each open descriptor."""
    links = Path("/proc/self/fd").iterdir()
    return sorted(str(link.readlink()) for link in links if link.is_symlink())


def has_child(parser: ParserProcess) -> bool:
    """Return whether the parser has a process of its own."""
    # Whoever has a page parsed is not told where it happens.
    return parser._child is not None
