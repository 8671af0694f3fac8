"""The stores of all shards of one crawl, open for reading, and everything read from them.

A *common* page or host is one of the gathered store, with the number that it has there.

opening    opens the stores; each shard is there once, and all were begun on the same terms
loading    cash and history of own pages, and cash waiting on foreign ones
law        the audit of all shards, from the senders' logs and the receivers' channels
turns      the last turn of each page
names      maps the pages of a shard to common pages
rows       requests, documents, original URLs, mirrors
numbering  numbers the pages of all shards, and writes their URLs
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import merge
from itertools import compress, islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.channels import Statement, faults, statement_of
from minicrawl.errors import DamagedStore, StoreError, UsageError
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import READ_STATES, State
from minicrawl.opic.ledger import (
    FOREIGN,
    READ,
    ChannelEnd,
    Channels,
    Spending,
    StepKind,
    Totals,
    shard_of,
)
from minicrawl.ports import Progress, part
from minicrawl.report.snapshot import inlinks, last_spent, load
from minicrawl.store import questions, tables
from minicrawl.store.questions import UrlColumns, asked_at, fetch_rows, originals, url_columns
from minicrawl.store.reader import reading
from minicrawl.store.records import (
    Batch,
    DocumentRow,
    FetchRow,
    HostRow,
    StoreTerms,
    UrlRow,
    WrittenRow,
    check_of,
    reporting_damage,
)
from minicrawl.store.stored_links import (
    WrittenLinks,
    has_self_link,
    pack,
    pack_plain,
    unpack,
    unpack_plain,
)
from minicrawl.store.writer import StoreWriter, add_mirrors
from minicrawl.web.references import BETWEEN_ENTRIES
from minicrawl.web.urls import host as host_of_url, site
from minicrawl.wording import counted

# ================================================================ opening

_NAMED = 10
_AT = attrgetter("at")
"""Sort key: time of a turn or a request."""


class ShardStore(NamedTuple):
    """Store of a shard, as of the moment at which it was opened."""

    path: Path
    connection: tables.Connection
    terms: StoreTerms

    @property
    def number(self) -> int:
        return self.terms.shard


@contextmanager
def opened(paths: Sequence[Path], absent: Collection[int] = ()) -> Iterator[list[ShardStore]]:
    """Open the stores, sorted by shard. Shards in `absent` have not begun and have no store."""
    with ExitStack() as stack:
        stores = [_opened(path, stack) for path in paths]
        _refuse_mixed_crawls(stores)
        _refuse_missing_shards(stores, absent)
        yield sorted(stores, key=lambda store: store.number)


def _opened(path: Path, stack: ExitStack) -> ShardStore:
    connection = stack.enter_context(reading(path))
    with reporting_damage(path):
        terms = tables.terms(connection)
    if terms is None or terms.shards == 1:
        raise UsageError(f"{path} is the store of a whole crawl, not of a shard")
    return ShardStore(path, connection, terms)


def _refuse_mixed_crawls(stores: Sequence[ShardStore]) -> None:
    if not stores:
        raise UsageError("no stores of shards to gather")
    first, known = stores[0], dict[int, ShardStore]()
    for store in stores:
        if (other := known.setdefault(store.number, store)) is not store:
            raise UsageError(f"{other.path} and {store.path} are both shard {store.number}")
        if store.terms.shards != first.terms.shards:
            raise UsageError(
                f"{first.path} is one of {first.terms.shards} shards, "
                f"{store.path} one of {store.terms.shards}: they are of different crawls"
            )
        if of_whole_crawl(store.terms) != of_whole_crawl(first.terms):
            raise UsageError(
                f"{first.path} and {store.path} were started on different terms: "
                "they are of different crawls"
            )


def _refuse_missing_shards(stores: Sequence[ShardStore], absent: Collection[int]) -> None:
    shards, known = stores[0].terms.shards, {store.number for store in stores}
    if missing := sorted(set(range(shards)) - known - set(absent)):
        named = ", ".join(map(str, missing[:_NAMED])) + (", ..." if missing[_NAMED:] else "")
        raise UsageError(
            f"{counted(len(missing), 'shard')} of {shards} missing: {named}; "
            "name the stores of all shards"
        )


def of_whole_crawl(terms: StoreTerms) -> StoreTerms:
    """Return the terms as those of a crawl on one machine."""
    return replace(terms, shard=0, shards=1)


# ================================================================ loading

Numbers = NDArray[np.int64]
Small = NDArray[np.uint32]
Pages = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedShard:
    """A shard as of the last commit of its store, with common numbers of its pages and hosts."""

    store: ShardStore
    hosts: Sequence[int]
    """Common host of each host of the shard."""
    pages: Pages
    """Common page of each page of the shard; 0 for foreign pages until `number_pages`."""
    own: range
    """Common pages that the shard owns."""
    is_own: NDArray[np.bool_]
    """True for own pages; one value for each page of the shard."""
    state: NDArray[np.uint8]
    """State of own pages, by ascending id, as are the next five columns."""
    key: Numbers
    """All cash of a read page; the key of an unread one."""
    history: Numbers
    g_time: Numbers
    inlinks: Small
    spent: Small
    """Number of the step that says where the page's cash goes, or 0."""
    measures: Mapping[int, bytes]
    """Measures by id of the page in the shard."""
    outbox: Numbers
    """Atoms waiting on each foreign page, by ascending id."""
    foreign_inlinks: Small
    forwards: Mapping[int, int]
    """page -> page that it stands for, which may be foreign; ids of the shard."""
    totals: Totals
    statement: Statement
    sent: SentBatches


def load_shard(store: ShardStore, hosts: Hosts, first: int) -> LoadedShard:
    """Load the last checkpoint and the steps after it. Own pages are numbered from `first`."""
    frontier = load(store.path, store.connection)
    with reporting_damage(store.path):
        return _loaded(store, frontier, hosts, first)


def _loaded(store: ShardStore, frontier: Frontier, hosts: Hosts, first: int) -> LoadedShard:
    connection, ledger = store.connection, frontier.ledger
    statement = statement_of(store.number, ledger, frontier.channels or Channels())
    if lost := statement.minted - ledger.abroad - statement.held:
        raise DamagedStore(f"{store.path}: {counted(lost, 'atom')} of cash missing")
    links = inlinks(connection, frontier).astype(np.uint32)
    spent = last_spent(connection, frontier)
    history, g_time, measures = _histories(connection, frontier)
    flags = np.frombuffer(ledger.flags, dtype=np.uint8)
    keys = np.frombuffer(ledger.key, dtype=np.int64).copy()
    keys[flags == READ] += ledger.virtual_page.dividend
    is_own = flags != FOREIGN
    own = range(first, first + int(np.count_nonzero(is_own)))
    pages: Pages = np.zeros(len(is_own), dtype=np.uint32)
    pages[is_own] = np.arange(own.start, own.stop, dtype=np.uint32)
    return LoadedShard(
        store=store,
        hosts=hosts.join(tables.hosts(connection)),
        pages=pages,
        own=own,
        is_own=is_own,
        state=frontier.states()[is_own],
        key=keys[is_own],
        history=history[is_own],
        g_time=g_time[is_own],
        inlinks=links[is_own],
        spent=spent[is_own],
        measures=measures,
        outbox=keys[~is_own],
        foreign_inlinks=links[~is_own],
        forwards=frontier.books.forwards,
        totals=ledger.totals,
        statement=statement,
        sent=_sent_batches(connection),
    )


def _histories(
    connection: tables.Connection, frontier: Frontier
) -> tuple[Numbers, Numbers, dict[int, bytes]]:
    """Return history, time and measures of all pages, from the checkpoint and later changes."""
    pages = len(frontier)
    saved = list(tables.frontier(connection, "history", "g_time"))
    rows = sum(len(block) for block, _ in saved)
    history, g_time = np.zeros(pages, dtype=np.int64), np.zeros(pages, dtype=np.int64)
    for place, column in enumerate((history, g_time)):
        column[:rows] = np.concatenate([np.empty(0, np.int64), *(block[place] for block in saved)])
    if rows < pages:
        g_time[rows:] = frontier.window.births(rows, pages).by_page()
    measures = tables.measures(connection)
    for page, (flowed, at, measured) in frontier.take_changes().turned.items():
        history[page], g_time[page] = flowed, at
        if measured is not None:
            measures[page] = measured
    return history, g_time, measures


# ================================================================ law
#
# The law of all shards, proven from the senders' logs and the receivers' channels.
#
# Laws: a batch in the sender's log that the receiver's channel does not count is under way. On each
# channel the receiver has posted the first batches that were sent, and no others. Stores are copied
# one after another, so the receiver's copy may have batches that the older copy of the sender
# lacks: they are *ahead*. That is no loss, but both copies have this cash: it is taken from the
# common pot.


class SentChannel:
    """Batches from one shard to another, by the sender's log."""

    def __init__(self) -> None:
        self._steps = array("q")
        self._atoms = array("q")

    @property
    def end(self) -> ChannelEnd:
        return ChannelEnd(len(self._steps), self.until(len(self._steps)))

    def add(self, step: int, number: int, atoms: int) -> None:
        """Add the next batch, sent by this step."""
        last = self.end
        if number != last.number + 1:
            raise ValueError(f"batch {number} follows batch {last.number}: the log has a gap")
        self._atoms.append(last.atoms + atoms)
        self._steps.append(step)

    def until(self, number: int) -> int:
        """Return the atoms of the first `number` batches."""
        return self._atoms[number - 1] if number else 0

    def after(self, number: int) -> Sequence[int]:
        """Return the steps that sent the batches after `number`."""
        return self._steps[number:]


SentBatches = Mapping[int, SentChannel]
"""Channels by receiver."""


class UnmatchedBatches(NamedTuple):
    """Batches that a receiver has and this copy of the sender lacks."""

    sender: int
    receiver: int
    batches: int
    atoms: int


def _sent_batches(connection: tables.Connection) -> SentBatches:
    """Return the channels of a shard, from the SEND steps of its log."""
    channels: dict[int, SentChannel] = {}
    for seq, step in tables.sendings_after(connection, 0):
        atoms = sum(step.spending.weights) + step.spending.idle
        channels.setdefault(step.page, SentChannel()).add(seq, step.amount, atoms)
    return channels


def audited(shards: Sequence[LoadedShard]) -> tuple[list[str], list[UnmatchedBatches]]:
    """Return the violations of the law, each a sentence, and batches that are merely ahead."""
    statements = [one.statement for one in shards]
    logs = {(one.store.number, to): sent for one in shards for to, sent in one.sent.items()}
    counts = {(one.shard, to): end for one in statements for to, end in one.sent.items()}
    miscounted = [
        f"shard {one.store.number} counts different sent batches than its log has"
        for one in shards
        if {to: sent.end for to, sent in one.sent.items()} != one.statement.sent
    ]
    ahead = [
        UnmatchedBatches(sender, one.shard, end.number - sent.number, end.atoms - sent.atoms)
        for one in statements
        for sender, end in one.received.items()
        if end.number > (sent := counts.get((sender, one.shard), ChannelEnd())).number
    ]
    wrong = faults(
        statements,
        lambda sender, receiver, number: logs[sender, receiver].until(number) if number else 0,
        ahead={(one.sender, one.receiver) for one in ahead},
    )
    return [*miscounted, *wrong], ahead


# ================================================================ turns
#
# The last turn of each page of a shard, as steps of the gathered log.
#
# Law: links keep their targets and their weights. A blob has links in ascending order, and common
# pages are ordered differently from a shard's; so links are sorted again, with the descriptions of
# links (`--keep links`).

_LINK_BITS = 40
"""Bits of a link when row and link are sorted as one number: more than a page id has."""
_BETWEEN = BETWEEN_ENTRIES.encode()


class GatheredTurn(NamedTuple):
    """Last turn of a page; `spending` is packed, or None if the page led nowhere.

    `value` is the last one that a scorer gave the page.
    """

    at: float
    page: int
    kind: int
    state: int
    spending: bytes | None
    value: int | None
    written: WrittenRow | None = None


class ShardTurns:
    """Last turns of all pages of a shard."""

    def __init__(self, shard: LoadedShard) -> None:
        self._connection = connection = shard.store.connection
        self._pages, rows = shard.pages, len(shard.is_own)
        self._state = np.full(rows, State.FOREIGN, dtype=np.uint8)
        self._state[shard.is_own] = shard.state
        self._spent = np.zeros(rows, dtype=np.int64)
        self._spent[shard.is_own] = shard.spent
        self._at = asked_at(connection, rows)
        is_scored = tables.has_values(connection)
        self._values = tables.values_of(connection, range(rows)) if is_scored else {}
        self._written = WrittenLinks(connection)

    def __iter__(self) -> Iterator[GatheredTurn]:
        """Yield the turns, roughly in the order of time."""
        return merge(self._with_links(), self._without_links(), key=_AT)

    def _without_links(self) -> Iterator[GatheredTurn]:
        others = np.isin(self._state, (State.UNREAD, State.FOREIGN))
        pages = np.flatnonzero(~others & (self._spent == 0))
        for page in pages[np.argsort(self._at[pages], kind="stable")].tolist():
            is_read = self._state[page] in READ_STATES
            yield self._turn(page, StepKind.VISIT if is_read else StepKind.DEAD_END, None)

    def _with_links(self) -> Iterator[GatheredTurn]:
        for block in questions.spendings(self._connection):
            current = block.only(self._spent[block.pages] == block.seqs)
            plain, others = current.split()
            if len(self._written):
                turns = [*self._one_by_one(plain), *self._one_by_one(others)]
            else:
                turns = [*self._in_bulk(plain), *self._one_by_one(others)]
            yield from sorted(turns, key=_AT)

    def _in_bulk(self, block: questions.Spendings) -> Iterator[GatheredTurn]:
        """Yield turns whose links all weigh the same, which most do, by bulk operations."""
        if not block.blobs:
            return
        counts, links = unpack_plain(block.blobs)
        own = np.fromiter(map(has_self_link, block.blobs), dtype=np.bool_)
        links = sorted_in_rows(counts, self._pages[links].astype(np.int64))
        blobs = pack_plain(counts, links, own)
        for page, kind, blob in zip(block.pages.tolist(), block.kinds.tolist(), blobs, strict=True):
            yield self._turn(page, kind, blob)

    def _one_by_one(self, block: questions.Spendings) -> Iterator[GatheredTurn]:
        for page, kind, blob in zip(
            block.pages.tolist(), block.kinds.tolist(), block.blobs, strict=True
        ):
            spending = unpack(blob)
            moved, order = renumbered(spending, self._pages)
            turn = self._turn(page, kind, pack(moved))
            yield turn._replace(written=self._written_of(turn.page, page, spending, moved, order))

    def _written_of(
        self, page: int, own: int, spending: Spending, moved: Spending, order: Sequence[int]
    ) -> WrittenRow | None:
        found = self._written.of(own, spending.links) if len(self._written) else None
        if found is None:
            return None
        entries = found.split(_BETWEEN)
        if len(entries) != len(order):
            raise ValueError(f"page {own} has {len(order)} links, and {len(entries)} are described")
        content = _BETWEEN.join(entries[place] for place in order)
        return WrittenRow(page, check_of(moved.links), content)

    def _turn(self, page: int, kind: int, blob: bytes | None) -> GatheredTurn:
        state = int(self._state[page])
        if state == State.UNREAD:  # the page was read, and now waits for another turn
            state = State.FETCHED
        at, value = float(self._at[page]), self._values.get(page)
        return GatheredTurn(at, int(self._pages[page]), kind, state, blob, value)


def renumbered(spending: Spending, pages: Pages) -> tuple[Spending, Sequence[int]]:
    """Return the spending with common pages, and the former position of each link."""
    links = pages[np.asarray(spending.links, dtype=np.int64)]
    order = np.argsort(links).tolist()
    return (
        Spending(
            np.sort(links).tolist(),
            [spending.weights[place] for place in order] if spending.weights else (),
            [spending.focus[place] for place in order] if spending.focus else (),
            spending.idle,
            spending.self_link,
            np.sort(pages[np.asarray(spending.unpaid, dtype=np.int64)]).tolist(),
        ),
        order,
    )


def sorted_in_rows(counts: Numbers, links: Numbers) -> Numbers:
    """Sort the links within each page."""
    rows = np.repeat(np.arange(len(counts), dtype=np.int64) << _LINK_BITS, counts)
    found: Numbers = np.sort(links | rows) - rows
    return found


# ================================================================ names
#
# Map from the pages of a shard to common pages.
#
# Law: two URLs are one page if they are equal. Equality is tested by a 128-bit hash, so a page
# takes 24 bytes, no matter how long its URL is. A page that two shards have as their own was born
# twice, which is a fault; so is an own page of a host that belongs to another shard.
#
# own      own pages of a shard have consecutive numbers, one shard after another
# unknown  pages that links lead to, but whose owner has not heard of them, are numbered last

Digests = NDArray[np.uint64]
"""Two 64-bit numbers for each URL."""

UNKNOWN = -1
_DIGEST_BYTES = 16


def digests(hosts: Iterable[int], paths: Iterable[str]) -> Digests:
    """Return the digests of URLs, each given as a common host and a path."""
    found = b"".join(
        [
            blake2b(
                b"%d %s" % (host, path.encode(errors="surrogatepass")), digest_size=_DIGEST_BYTES
            ).digest()
            for host, path in zip(hosts, paths, strict=True)
        ]
    )
    return np.frombuffer(found, dtype=np.uint64).reshape(-1, 2)


class PageIndex:
    """Index of pages by URL: page i has the i-th digest."""

    def __init__(self, known: Digests) -> None:
        # 128 bits are enough to take equal digests for equal URLs: among a billion pages, two of
        # them agree by chance with a probability of about 1e-21. Keeping the URLs themselves would
        # take several times the memory.
        order = np.lexsort((known[:, 1], known[:, 0]))
        self._high, self._low = known[order, 0], known[order, 1]
        self._pages = order.astype(np.int64)

    def twice(self) -> tuple[int, int] | None:
        """Return two pages with the same URL, or None."""
        alike = (self._high[1:] == self._high[:-1]) & (self._low[1:] == self._low[:-1])
        for place in np.flatnonzero(alike)[:1].tolist():
            return int(self._pages[place]), int(self._pages[place + 1])
        return None

    def find(self, wanted: Digests) -> Numbers:
        """Return the page of each digest, or `UNKNOWN`."""
        found = np.full(len(wanted), UNKNOWN, dtype=np.int64)
        # The search finds the first entry with the upper half of a digest. Entries with the same
        # upper half, which are very rare, are then tried one after another, for all digests at
        # once.
        places = np.searchsorted(self._high, wanted[:, 0])
        left = np.arange(len(wanted))
        while len(left := left[places[left] < len(self._high)]):
            left = left[self._high[places[left]] == wanted[left, 0]]
            is_hit = self._low[places[left]] == wanted[left, 1]
            found[left[is_hit]] = self._pages[places[left[is_hit]]]
            left = left[~is_hit]
            places[left] += 1
        return found


class Hosts:
    """Hosts of all shards, each once."""

    def __init__(self) -> None:
        self.rows: list[HostRow] = []
        self._ids: dict[str, int] = {}

    def join(self, rows: Iterable[HostRow]) -> list[int]:
        """Return the common host of each host of a shard, and merge what shards know of it."""
        return [self._join(row) for row in rows]

    def _join(self, row: HostRow) -> int:
        number = self._ids.setdefault(row.origin, len(self.rows))
        if number == len(self.rows):
            self.rows.append(row._replace(id=number))
        else:
            told = {name: value for name, value in row._asdict().items() if value is not None}
            self.rows[number] = self.rows[number]._replace(**told)._replace(id=number)
        return number


def owner_of(origin: str, shards: int) -> int:
    return shard_of(site(host_of_url(f"{origin}/")), shards)


class PagesUnknownToOwners:
    """Common pages that links lead to, but that their owners have not heard of."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._rows: dict[bytes, UrlRow] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> Iterable[UrlRow]:
        """Rows of all pages, in order."""
        return self._rows.values()

    def page(self, digest: bytes, row: UrlRow) -> int:
        """Return the page of a URL. A page has the least depth that any shard knows."""
        known = self._rows.get(digest)
        number = self._first + len(self._rows) if known is None else known.id
        if known is None or row.depth < known.depth:
            self._rows[digest] = row._replace(id=number)
        return number


# ================================================================ rows
#
# Rows of pages outside the log: requests, documents, original URLs, mirrors.
#
# Law: each row is written once, with the common number of its page. Requests of all shards are
# ordered by time.

Row = TypeVar("Row")

ROWS_AT_ONCE = 50_000
_LARGEST = frozenset(("running_s",))
"""Counters of which the largest counts; others are added up."""
_OF_ALL = (tables.SETTINGS, tables.LAST_RUN_SETTINGS, tables.CONVERGES)
"""Counters that are equal in all shards."""


def blocks(rows: Iterable[Row], size: int = ROWS_AT_ONCE) -> Iterator[list[Row]]:
    source = iter(rows)
    while block := list(islice(source, size)):
        yield block


def write_rows_of_all(shards: Sequence[LoadedShard], out: StoreWriter) -> int:
    """Write requests, documents, original URLs and mirrors. Return the number of requests."""
    requests = 0
    for fetches in blocks(merge(*map(_fetches, shards), key=_AT)):
        out.commit(Batch(fetches=fetches))
        requests += len(fetches)
    for shard in shards:
        for documents in blocks(_documents(shard)):
            out.commit(Batch(documents=documents))
    for found in blocks(_originals(shards)):
        out.commit(Batch(originals=found))
    add_mirrors(out, _mirrors(shards))
    return requests


def counters_of_all(shards: Sequence[LoadedShard]) -> dict[str, object]:
    known = [tables.counters(shard.store.connection) for shard in shards]
    found = {name: known[0][name] for name in _OF_ALL if name in known[0]}
    summed = ("fetched", "requests", "wire_bytes", "born")
    for name in (*summed, *_LARGEST):
        counts = (one.get(name) for one in known)
        numbers = [count for count in counts if isinstance(count, int | float)]
        if numbers:
            found[name] = max(numbers) if name in _LARGEST else sum(numbers)
    ends = {
        shard.store.number: end
        for shard, one in zip(shards, known, strict=True)
        if (end := one.get(tables.ARCHIVE_END)) is not None
    }
    return found | {tables.ARCHIVES: ends} if ends else found


def _fetches(shard: LoadedShard) -> Iterator[FetchRow]:
    pages = shard.pages
    return (FetchRow(int(pages[row.page]), *row[1:]) for row in fetch_rows(shard.store.connection))


def _documents(shard: LoadedShard) -> Iterator[DocumentRow]:
    pages = shard.pages
    return (
        DocumentRow(int(pages[row.page]), *row[1:])
        for row in tables.all_documents(shard.store.connection)
    )


def _originals(shards: Sequence[LoadedShard]) -> Iterator[tuple[int, str]]:
    """Yield original URLs. The owner of a page takes precedence over other shards."""
    told = set[int]()
    for is_own in (True, False):
        for shard in shards:
            for page, url in originals(shard.store.connection):
                number = int(shard.pages[page])
                if (number in shard.own) is is_own and number not in told:
                    told.add(number)
                    yield number, url


def _mirrors(shards: Sequence[LoadedShard]) -> list[tuple[int, int, int]]:
    found = Counter[tuple[int, int]]()
    for shard in shards:
        for host, of_host, pages in tables.mirrors(shard.store.connection):
            found[shard.hosts[host], shard.hosts[of_host]] += pages
    return [(*pair, pages) for pair, pages in sorted(found.items())]


# ================================================================ numbering
#
# Numbers the pages of all shards, and writes their URLs.
#
# Law: each URL is one page. The own pages of all shards are numbered first; then foreign pages are
# looked up among them.

_NO_DIGESTS = np.empty((0, 2), dtype=np.uint64)


def number_pages(
    shards: Sequence[LoadedShard], hosts: Hosts, out: StoreWriter, tell: Progress
) -> int:
    """Number the foreign pages of all shards, and write URLs and hosts.

    Return the number of pages that their owners have not heard of.
    """
    known = [_NO_DIGESTS]
    for count, shard in enumerate(shards, 1):
        with reporting_damage(shard.store.path):
            known += _write_own(shard, out)
            _refuse_pages_of_others(shard, hosts)
        part(tell, 0, 0.5)(count / len(shards))
    index = PageIndex(np.concatenate(known))
    if (twice := index.twice()) is not None:
        first, other = (tables.url_of(out.connection, page) for page in twice)
        raise StoreError(f"{first} was born in two shards" + (f", as {other}" * (first != other)))
    unknown = PagesUnknownToOwners(shards[-1].own.stop)
    for count, shard in enumerate(shards, 1):
        _find_foreign(shard, index, unknown)
        part(tell, 0.5, 1)(count / len(shards))
    for block in blocks(unknown.rows):
        out.commit(Batch(urls=block))
    out.commit(Batch(hosts=hosts.rows))
    return len(unknown)


def _write_own(shard: LoadedShard, out: StoreWriter) -> Iterator[Digests]:
    for ids, urls in _urls(shard, shard.is_own):
        pages = shard.pages[ids].tolist()
        rows = map(UrlRow._make, zip(pages, urls.hosts, urls.paths, urls.depths, strict=True))
        out.commit(Batch(urls=list(rows)))
        yield digests(urls.hosts, urls.paths)


def _urls(shard: LoadedShard, chosen: NDArray[np.bool_]) -> Iterator[tuple[Numbers, UrlColumns]]:
    """Yield the ids and URLs of the chosen pages, with the common hosts."""
    hosts, first = np.array(shard.hosts, dtype=np.int64), 0
    for block in url_columns(shard.store.connection):
        here = chosen[first : first + len(block.paths)]
        ids = first + np.flatnonzero(here)
        first += len(here)
        if len(ids):
            is_here = here.tolist()
            of_all = hosts[np.array(block.hosts)[here]].tolist()
            paths, depths = compress(block.paths, is_here), compress(block.depths, is_here)
            yield ids, UrlColumns(of_all, list(paths), list(depths))


def _refuse_pages_of_others(shard: LoadedShard, hosts: Hosts) -> None:
    store = shard.store
    host_of = tables.whole(tables.urls(store.connection, "host"), "host")
    for host in np.unique(host_of[shard.is_own]).tolist():
        origin = hosts.rows[shard.hosts[host]].origin
        if (owner := owner_of(origin, store.terms.shards)) != store.number:
            raise StoreError(
                f"{store.path} has pages of {origin} as its own, which are shard {owner}'s"
            )


def _find_foreign(shard: LoadedShard, index: PageIndex, unknown: PagesUnknownToOwners) -> None:
    for ids, urls in _urls(shard, ~shard.is_own):
        wanted = digests(urls.hosts, urls.paths)
        found = index.find(wanted)
        for place in np.flatnonzero(found == UNKNOWN).tolist():
            row = UrlRow(UNKNOWN, urls.hosts[place], urls.paths[place], urls.depths[place])
            found[place] = unknown.page(wanted[place].tobytes(), row)
        shard.pages[ids] = found
