"""Child processes and open files of the test process, read from `/proc`."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minicrawl.crawl.workers.parser_process import ParserProcess


def children() -> list[int]:
    """Return the children of this process, zombies included."""
    tasks = Path("/proc/self/task").iterdir()
    return sorted(int(child) for task in tasks for child in _started_by(task))


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
    links = Path("/proc/self/fd").iterdir()
    return sorted(str(link.readlink()) for link in links if link.is_symlink())


def has_child(parser: ParserProcess) -> bool:
    # Whoever has a page parsed is not told where it happens.
    return parser._child is not None
