"""Rows of the store as plain values, and errors of SQLite."""

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
from minicrawl.model import KeptAnswer, OwnRequest, PageId
from minicrawl.opic.ledger.books import Step
from minicrawl.opic.ledger.ledger import Totals
from minicrawl.opic.ledger.money import SMALL_EDGE


class UrlRow(NamedTuple):
    """Known page. Ids are dense, in the order of discovery."""

    id: int
    host: int
    path: str
    depth: int


class StepRow(NamedTuple):
    """Step, with the state of its page after it."""

    seq: int
    state: int
    step: Step
    value: int | None = None
    """Value of its page in 65,535ths, if a scorer gave one."""


NOT_ASKED = "not-asked"
CHANGED = "changed"
"""Note on a request for a page whose content had changed."""


class FetchRow(NamedTuple):
    """Request and its outcome. `NOT_ASKED` means that none was made; `detail` says why."""

    page: PageId
    at: float
    outcome: str
    status: int | None
    wire_bytes: int
    elapsed_s: float
    detail: str
    first_byte_s: float | None = None
    """Time from the request to the head of the response; the connection was open before."""


FETCH_COLUMNS = ", ".join(FetchRow._fields)


class DocumentRow(NamedTuple):
    """Metadata of a page that was read."""

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
    """Origin, its robots.txt rules while they are valid, and its pause.

    If `trouble` is None, the stored value is kept.
    """

    id: int
    origin: str
    robots: str | None = None
    robots_until: float | None = None
    wait_until: float | None = None
    trouble: str | None = None


class WrittenRow(NamedTuple):
    """Attributes of the links of one page, in link order. `check` is a checksum of the link ids."""

    page: int
    check: int
    entries: bytes


def check_of(links: Sequence[int]) -> int:
    """Return a checksum that detects changed links."""
    return crc32(array("q", links).tobytes())


UNCHANGED = -1


class FrontierRow(NamedTuple):
    """Checkpoint of one page."""

    id: int
    state: int
    key: int
    history: int
    g_time: int
    inlinks: int
    spent: int
    """Step of the last spending; `UNCHANGED` keeps the stored value, 0 means none."""
    measures: bytes | None = None


ChannelEnds = Mapping[str, Sequence[Sequence[int]]]
"""State of a shard's channels: `sent` and `received` list shard, last batch and total atoms.

`unsent` lists the foreign pages that were never sent.
"""

PaidRow = tuple[int, int, int]
"""Key, new in-links and id of a page of which nothing else changed."""


@dataclass(slots=True, kw_only=True)
class Batch:
    """Rows that one transaction adds."""

    urls: list[UrlRow] = field(default_factory=list)
    originals: list[tuple[int, str]] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    fetches: list[FetchRow] = field(default_factory=list)
    documents: list[DocumentRow] = field(default_factory=list)
    hosts: list[HostRow] = field(default_factory=list)
    mirrors: list[tuple[int, int]] = field(default_factory=list)
    written: list[WrittenRow] = field(default_factory=list)
    own_requests: list[tuple[PageId, OwnRequest]] = field(default_factory=list)
    counters: dict[str, object] = field(default_factory=dict)
    answers: list[KeptAnswer] = field(default_factory=list)
    """Answers for the archive, which stores them before the rows are written."""

    def __bool__(self) -> bool:
        rows = (self.urls, self.steps, self.fetches, self.documents, self.hosts, self.mirrors)
        return any((*rows, self.answers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Rows that changed since the last checkpoint, as of the step `watermark`.

    Their in-links are increments.
    """

    watermark: int
    totals: Totals
    born: Iterable[FrontierRow]
    """Rows of pages that had none."""
    turned: Iterable[FrontierRow]
    """Rows of older pages that had a turn."""
    paid: Iterable[PaidRow]
    """Rows of the other pages whose cash or in-links changed."""
    siblings: Mapping[str, bytes] | None = None
    """State of the siblings order, if the crawl uses it."""
    channels: ChannelEnds | None = None
    """Channel state, in a crawl with several shards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Last checkpoint without its pages, which are read as columns."""

    watermark: int
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTerms:
    """Immutable terms of a store.

    With other terms the same steps would give another ledger, or one page would become two.
    """

    small_edge: float = SMALL_EDGE
    """Initial small edge; later changes are steps of their own."""
    window: str = "interpolation"
    """Name, and size after a colon if it was given."""
    width: float = 8.0
    """Width of a window without a size."""
    measures: int | None = None
    links: bool = True
    strip_marks: bool = True
    imported: bool = False
    """True if the store holds an imported graph, which cannot be crawled."""
    shard: int = 0
    shards: int = 1
    """Number of this store's shard, and of all shards; most crawls have one."""

    @property
    def window_name(self) -> str:
        """Name of the window, without its size."""
        return self.window.partition(":")[0]

    def as_option(self, name: str) -> str:
        """Return a term as the option that sets it, or as name and value if no option does."""
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
"""Terms that a later run may give differently: the small edge can change; width and measures were
settings once, and the store keeps its own.
"""
_WITHOUT_OPTION = ("imported", "shard", "shards")

# ================================================================ trouble
#
# SQLite errors as one-line messages that name the store.
#
# Law: a full disk has an error class of its own, because it is temporary.

NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions that parsing an invalid value may raise."""

DERIVED = "delete it to have it rebuilt"
"""Advice for a damaged file of derived data."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_PRIMARY = 0xFF
"""Mask of the primary result code in an extended SQLite error code."""
_TRIED_BYTES = 1 << 16


@contextmanager
def translating_sqlite_errors(path: Path, advice: str = "") -> Iterator[None]:
    """Convert SQLite errors into a `StoreError` that ends with `advice`, if any."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes names of a damaged schema
        raise DamagedStore(_line(path, f"damaged ({error})", advice)) from error
    except sqlite3.Error as error:
        if _means_full_disk(error, path):
            said = str(error) if "full" in str(error) else f"the disk is full ({error})"
            raise NoRoom(_line(path, said, advice)) from error
        is_damaged = _primary_code(error) == sqlite3.SQLITE_CORRUPT
        kind = DamagedStore if is_damaged else StoreError
        raise kind(_line(path, str(error), advice)) from error


@contextmanager
def translating_derived_errors(path: Path) -> Iterator[None]:
    """Like `translating_sqlite_errors`, but damaged derived data leaves the store intact."""
    try:
        with translating_sqlite_errors(path, DERIVED):
            yield
    except NoRoom as error:  # a rebuilt file would need the same room
        raise NoRoom(str(error).removesuffix(f"; {DERIVED}")) from error
    except DamagedStore as error:
        raise StoreError(str(error)) from error


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Convert errors from invalid values into a `StoreError`."""
    try:
        yield
    except NONSENSE as error:
        raise StoreError(
            f"{path} is damaged ({error}): run `minicrawl check` for details"
        ) from error


def _line(path: Path, what: str, advice: str) -> str:
    return "; ".join(filter(None, (f"{path}: {what}", advice)))


def _means_full_disk(error: sqlite3.Error, path: Path) -> bool:
    """Return True if the error means that the disk is full.

    SQLite reports SQLITE_FULL for most failed writes, but SQLITE_IOERR for some, and for quotas.
    """
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
