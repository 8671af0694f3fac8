"""Rows of the store as plain values."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

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
NOT_RENDERED, NOT_DRAWN = "not rendered: ", "not drawn: "
"""Beginnings of notes on a request for a page whose scripts did not run, or that lacks pictures."""


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
    times: Sequence[tuple[int, int]] | None = None
    """Notes of the time, for a window of a span of time."""


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
