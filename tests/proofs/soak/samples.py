"""Samples of a running crawl: its memory, open files, write-ahead log and pages.

Law: sampling does not disturb the crawl, and a process that ends during a sample is left out.

own    private memory: RSS without the pages of mapped files. The system may drop those at any time,
       which could hide a leak
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from minicrawl.store import questions, tables
from minicrawl.store.reader import reading

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_TIMES = slice(11, 13)  # fields of /proc/PID/stat after the name
_RESIDENT, _OF_FILES = 1, 2  # fields of /proc/PID/statm
_PROC = Path("/proc")


class Sample(NamedTuple):
    """Sample of a crawl, including all processes that it started."""

    at_s: float
    rss_bytes: tuple[int, ...]  # of each process, the crawl's first
    own_bytes: tuple[int, ...]
    files: int
    wal_bytes: int
    known: int  # URLs
    pages: int  # fetched so far
    cpu_s: float

    @property
    def rss_mb(self) -> float:
        return sum(self.rss_bytes) / 1e6

    @property
    def own_mb(self) -> float:
        return sum(self.own_bytes) / 1e6


class _Process(NamedTuple):
    rss_bytes: int
    own_bytes: int
    files: int
    cpu_s: float


def sample(at_s: float, pid: int, store: Path) -> Sample:
    """Sample the crawl with this process id."""
    family = list(_family(pid))
    known, pages = _counted(store)
    return Sample(
        at_s=at_s,
        rss_bytes=tuple(process.rss_bytes for process in family),
        own_bytes=tuple(process.own_bytes for process in family),
        files=sum(process.files for process in family),
        wal_bytes=_size(store.with_name(f"{store.name}-wal")),
        known=known,
        pages=pages,
        cpu_s=sum(process.cpu_s for process in family),
    )


def _family(pid: int) -> Iterator[_Process]:
    place = _PROC / str(pid)
    with suppress(FileNotFoundError, ProcessLookupError):
        stat = (place / "stat").read_text().rpartition(")")[2].split()
        cpu_s = sum(map(int, stat[_TIMES])) / _TICKS
        pages = [int(field) for field in (place / "statm").read_text().split()]
        rss_bytes = pages[_RESIDENT] * _PAGE_BYTES
        own_bytes = rss_bytes - pages[_OF_FILES] * _PAGE_BYTES
        files = sum(1 for _ in (place / "fd").iterdir())
        yield _Process(rss_bytes, own_bytes, files, cpu_s)
        for child in (place / "task" / str(pid) / "children").read_text().split():
            yield from _family(int(child))


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _counted(store: Path) -> tuple[int, int]:
    """Return the numbers of known URLs and fetched pages, as of the last commit."""
    if not store.exists():
        return 0, 0
    with reading(store) as connection:
        fetched = tables.counters(connection).get("fetched", 0)
        return questions.pages_known(connection), fetched if isinstance(fetched, int) else 0
