"""The rows of the store, as plain values."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

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
        shown = "none" if value is None else f"{value:g}" if isinstance(value, float) else value
        return f"--{name.replace('_', '-')} {shown}"


_SWITCHES = {
    "links": {True: "--links", False: "--no-links"},
    "strip_marks": {True: "--strip-marks", False: "--keep-marks"},
}
MAY_CHANGE = ("small_edge",)
_WITHOUT_OPTION = ("imported", "shard", "shards")
