"""The rows of the store, as plain values."""

from __future__ import annotations

import errno
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple
from zlib import crc32

from minicrawl.errors import DamagedStore, NoRoom, StoreError
from minicrawl.model import KeptAnswer, PageId
from minicrawl.opic.journal import Step
from minicrawl.opic.ledger import Totals
from minicrawl.opic.money import SMALL_EDGE


class UrlRow(NamedTuple):
    """A known page. Ids are dense, in the order in which pages were found."""

    id: int
    host: int
    path: str
    depth: int


class StepRow(NamedTuple):
    """A step, and the state of its page after it."""

    seq: int
    state: int
    step: Step


NOT_ASKED = "not-asked"
CHANGED = "changed"
"""Noted of a request for a page that said something else than the time before."""


class FetchRow(NamedTuple):
    """One request and its outcome. With the outcome `NOT_ASKED`, the reason for no request."""

    page: PageId
    at: float
    outcome: str
    status: int | None
    wire_bytes: int
    elapsed_s: float
    detail: str


class DocumentRow(NamedTuple):
    """What is known about a page that was read."""

    page: PageId
    title: str
    status: int
    etag: str | None
    last_modified: str | None
    content: int
    noindex: bool
    first_at: float
    last_at: float
    checks: int
    changes: int


class HostRow(NamedTuple):
    """An origin, the rules of its robots.txt while they are valid, and its pause.

    If `trouble` is None, the store keeps the last one.
    """

    id: int
    origin: str
    robots: str | None = None
    robots_until: float | None = None
    wait_until: float | None = None
    trouble: str | None = None


class WrittenRow(NamedTuple):
    """What is written of the links of one page, in their order. `check` is of their ids."""

    page: int
    check: int
    entries: bytes


def check_of(links: Sequence[int]) -> int:
    """By which it is seen whether a page still has these links."""
    return crc32(array("q", links).tobytes())


UNCHANGED = -1


class FrontierRow(NamedTuple):
    """The checkpoint of one page."""

    id: int
    state: int
    key: int
    history: int
    g_time: int
    inlinks: int
    spent: int
    """`UNCHANGED` to keep the value of the row; 0 for a page without a row."""
    measures: bytes | None = None


ChannelEnds = Mapping[str, Sequence[Sequence[int]]]
"""What was `sent` and `received`: the other shard, the number of the last batch, and all atoms; and
the foreign pages that are `unsent`.
"""

PaidRow = tuple[int, int, int]
"""Key, new in-links and id of a page, for a row in which nothing else changed."""


@dataclass(slots=True, kw_only=True)
class Batch:
    """The rows that one transaction adds."""

    urls: list[UrlRow] = field(default_factory=list)
    originals: list[tuple[int, str]] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    fetches: list[FetchRow] = field(default_factory=list)
    documents: list[DocumentRow] = field(default_factory=list)
    hosts: list[HostRow] = field(default_factory=list)
    mirrors: list[tuple[int, int]] = field(default_factory=list)
    written: list[WrittenRow] = field(default_factory=list)
    counters: dict[str, object] = field(default_factory=dict)
    answers: list[KeptAnswer] = field(default_factory=list)
    """For the archive, which has them before the rows are written."""

    def __bool__(self) -> bool:
        rows = (self.urls, self.steps, self.fetches, self.documents, self.hosts, self.mirrors)
        return any((*rows, self.answers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The rows that changed since the last checkpoint, and the last step in them.

    Their in-links are the new ones only.
    """

    watermark: int
    totals: Totals
    born: Iterable[FrontierRow]
    """Rows of pages that had none."""
    turned: Iterable[FrontierRow]
    paid: Iterable[PaidRow]
    siblings: Mapping[str, bytes] | None = None
    """What siblings have shown, if the crawl is ordered by that."""
    channels: ChannelEnds | None = None
    """What was sent to other shards and received from them, in a crawl that has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The last checkpoint without the pages, which are read in columns."""

    watermark: int
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTerms:
    """The terms of a store, which never change: with others, the same steps would give another
    ledger, or one page would become two.
    """

    small_edge: float = SMALL_EDGE
    """The first one: a step says when it becomes another."""
    window: str = "interpolation"
    width: float = 8.0
    measures: int | None = None
    links: bool = True
    strip_marks: bool = True
    imported: bool = False
    """Whether the store holds an imported graph, which cannot be crawled."""
    shard: int = 0
    shards: int = 1
    """Which shard of how many the store is; most crawls have one."""

    def told(self, name: str) -> str:
        """One of them as the option that it was given by, where there is one."""
        value = getattr(self, name)
        if name in _WITHOUT_OPTION:
            return f"{name} {value}"
        if name in _SWITCHES:
            return _SWITCHES[name][value]
        return f"--{name} {value}"


_SWITCHES = {
    "links": {True: "--links", False: "--no-links"},
    "strip_marks": {True: "--strip-marks", False: "--keep-marks"},
}
MAY_DIFFER = ("small_edge", "width", "measures")
"""A crawl may have another small edge than the first one. A store keeps its own width and measures,
which were settings once.
"""
_WITHOUT_OPTION = ("imported", "shard", "shards")

# ================================================================ trouble
#
# Errors of SQLite as messages of one line that name the store.
#
# Law: a full disk has an error of its own, because it is temporary.

NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The errors that code raises when it reads a bad value."""

DERIVED = "delete it if need be: it can be made again"
"""What comforts who has a damaged file beside a store."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_PRIMARY = 0xFF
"""The bits of an error code with its primary result code."""
_TRIED_BYTES = 1 << 16


@contextmanager
def translating_sqlite_errors(path: Path, comfort: str = "") -> Iterator[None]:
    """Turn errors of SQLite into a `StoreError` that ends with `comfort`: what is still safe."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes names of a damaged schema
        raise DamagedStore(_line(path, f"damaged ({error})", comfort)) from error
    except sqlite3.Error as error:
        if _means_full_disk(error, path):
            raise NoRoom(_line(path, _full_disk_message(error), comfort)) from error
        is_damaged = _primary_code(error) == sqlite3.SQLITE_CORRUPT
        kind = DamagedStore if is_damaged else StoreError
        raise kind(_line(path, str(error), comfort)) from error


@contextmanager
def translating_derived_errors(path: Path) -> Iterator[None]:
    """The same for what lies beside a store. That it is damaged says nothing of the store."""
    try:
        with translating_sqlite_errors(path, DERIVED):
            yield
    except DamagedStore as error:
        raise StoreError(str(error)) from error


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Turn errors of bad values into a `StoreError`."""
    try:
        yield
    except NONSENSE as error:
        raise StoreError(
            f"{path} is damaged ({error}): run `minicrawl check` for details"
        ) from error


def _line(path: Path, what: str, comfort: str) -> str:
    return "; ".join(filter(None, (f"{path}: {what}", comfort)))


def _full_disk_message(error: sqlite3.Error) -> str:
    return str(error) if "full" in str(error) else f"the disk is full ({error})"


def _means_full_disk(error: sqlite3.Error, path: Path) -> bool:
    """SQLite reports a full disk for most writes, but `disk I/O error` for some and for quotas."""
    code = _primary_code(error)
    if code == sqlite3.SQLITE_IOERR:
        return not _has_room(path.absolute().parent)
    return code == sqlite3.SQLITE_FULL


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & _PRIMARY


def _has_room(folder: Path) -> bool:
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIED_BYTES))
    except OSError as error:
        return error.errno not in _FULL
    return True
