"""The processes and open files of the test's own process, as Linux tells of them."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minicrawl.crawl.workers.parser import ParserProcess


def children(of: int | None = None) -> list[int]:
    """The processes that it started and that were not waited for, be they dead."""
    tasks = Path(f"/proc/{of or os.getpid()}/task")
    return sorted(int(child) for task in tasks.iterdir() for child in _started_by(task))


def _started_by(task: Path) -> list[str]:
    """None by a thread that has just ended."""
    with suppress(FileNotFoundError):
        return (task / "children").read_text().split()
    return []


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """As many processes and open files after it as there were before. What an earlier test left
    to be collected is closed first, or it would be closed at any moment.
    """
    gc.collect()
    before = children(), open_files()
    yield
    after = children(), open_files()
    assert after == before, (after, before)


def open_files() -> list[str]:
    """What stands behind each descriptor."""
    links = Path("/proc/self/fd").iterdir()
    return sorted(str(link.readlink()) for link in links if link.is_symlink())


def has_child(parser: ParserProcess) -> bool:
    """Whether a process of its own parses for it."""
    return parser._child is not None
