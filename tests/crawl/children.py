"""The processes and open files of the test's own process, as Linux tells of them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def children(of: int | None = None) -> list[int]:
    """The processes that it started and that were not waited for, be they dead."""
    tasks = Path(f"/proc/{of or os.getpid()}/task")
    listed = (task / "children" for task in tasks.iterdir())
    return sorted(int(child) for file in listed for child in file.read_text().split())


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """As many processes and open files after it as there were before."""
    before = children(), open_files()
    yield
    after = children(), open_files()
    assert after == before, (after, before)


def open_files() -> list[str]:
    """What stands behind each descriptor."""
    links = Path("/proc/self/fd").iterdir()
    return sorted(str(link.readlink()) for link in links if link.is_symlink())
