"""What goes into the store and comes out of it, as plain values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from minicrawl.opic.journal import Step
from minicrawl.opic.ledger import Totals


class UrlRow(NamedTuple):
    """A page that became known. Ids are dense: a row's place in the order is its id."""

    id: int
    host: int
    path: str
    depth: int


class StepRow(NamedTuple):
    """A step and the state that its page has from here on."""

    seq: int
    state: int
    step: Step


NOT_ASKED = "not-asked"


class FetchRow(NamedTuple):
    """One request and its answer; or why there is none, if the outcome is `NOT_ASKED`."""

    page: int
    at: float
    outcome: str
    status: int | None
    wire_bytes: int
    elapsed_s: float
    detail: str


class DocumentRow(NamedTuple):
    """What is known of a page that was read."""

    page: int
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
    """An origin, the rules of its robots.txt while they hold, and how long it must be spared.

    Without a `trouble` the last one that is known of it is kept.
    """

    id: int
    origin: str
    robots: str | None = None
    robots_until: float | None = None
    wait_until: float | None = None
    trouble: str | None = None


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
    """`UNCHANGED` where it is what the row says already; 0 of a page that has no row."""
    measures: bytes | None = None


PaidRow = tuple[int, int, int]
"""Key, gained in-links and id of a page of whose row nothing else changed."""


class RefinementRow(NamedTuple):
    """How far replays came; they go on from here while no step follows on `seq`."""

    seq: int
    rounds: int
    history: bytes
    cash: bytes


@dataclass(slots=True, kw_only=True)
class Batch:
    """All that one transaction adds."""

    urls: list[UrlRow] = field(default_factory=list)
    originals: list[tuple[int, str]] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    fetches: list[FetchRow] = field(default_factory=list)
    documents: list[DocumentRow] = field(default_factory=list)
    hosts: list[HostRow] = field(default_factory=list)
    mirrors: list[tuple[int, int]] = field(default_factory=list)
    counters: dict[str, object] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any((self.urls, self.steps, self.fetches, self.documents, self.hosts, self.mirrors))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The rows that changed since the last one, and the last step they know of.

    Their in-links are those that they have more than before.
    """

    watermark: int
    totals: Totals
    born: Iterable[FrontierRow]
    """Of pages that had no row."""
    turned: Iterable[FrontierRow]
    paid: Iterable[PaidRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The last checkpoint, but for the pages: those are read in columns."""

    watermark: int
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTerms:
    """What a store is born with and keeps: other terms would make other books of the same steps,
    or two pages of one.
    """

    small_edge: float = 0.15
    window: str = "interpolation"
    width: float = 8.0
    links: bool = True
    strip_marks: bool = True
    imported: bool = False
    """It holds a graph that was given whole: nobody crawls from there."""
