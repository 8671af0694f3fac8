"""The stores of the shards of one crawl, open for reading.

Law: each shard is there once, and all were begun on the same terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.opic.shard_channels import shard_of
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import (
    Batch,
    DocumentRow,
    FetchRow,
    HostRow,
    StoreTerms,
    UrlRow,
    reporting_damage,
)
from minicrawl.store.writer import StoreWriter, add_mirrors, fetch_rows, originals
from minicrawl.web.urls import host as host_of_url
from minicrawl.web.urls import site
from minicrawl.wording import counted

_NAMED = 10


class ShardStore(NamedTuple):
    """The store of a shard, as of its opening."""

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
        _refuse_others(stores)
        _refuse_some(stores, absent)
        yield sorted(stores, key=lambda store: store.number)


def terms_of_all(stores: Sequence[ShardStore]) -> StoreTerms:
    """Return the terms of the crawl, as on a single machine."""
    return _as_one(stores[0].terms)


def _opened(path: Path, stack: ExitStack) -> ShardStore:
    connection = stack.enter_context(reading(path))
    with reporting_damage(path):
        terms = tables.terms(connection)
    if terms is None or terms.shards == 1:
        raise UsageError(f"{path} is the store of a whole crawl, and not of a shard")
    return ShardStore(path, connection, terms)


def _refuse_others(stores: Sequence[ShardStore]) -> None:
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
        if _as_one(store.terms) != _as_one(first.terms):
            raise UsageError(
                f"{first.path} and {store.path} were started on different terms: "
                "they are of different crawls"
            )


def _refuse_some(stores: Sequence[ShardStore], absent: Collection[int]) -> None:
    shards, known = stores[0].terms.shards, {store.number for store in stores}
    if missing := sorted(set(range(shards)) - known - set(absent)):
        named = ", ".join(map(str, missing[:_NAMED])) + (", ..." if missing[_NAMED:] else "")
        raise UsageError(
            f"{counted(len(missing), 'shard')} of {shards} missing: {named}; "
            "name the stores of all shards"
        )


def _as_one(terms: StoreTerms) -> StoreTerms:
    return replace(terms, shard=0, shards=1)


# ================================================================ names
#
# Which common page each page of a shard is.
#
# Law: two URLs are one page if they are equal. Equality is tested by a 128-bit hash, so a page
# takes 24 bytes however long its URL is. A page that two shards have as their own was born twice,
# which is a fault; so is an own page of a host that belongs to another shard.
#
# own      own pages of a shard have consecutive numbers, one shard after another
# unheard  pages that links lead to and whose owner has not heard of them are numbered last

Digests = NDArray[np.uint64]
"""Two 64-bit numbers for each URL."""
Pages = NDArray[np.uint32]

UNKNOWN = -1
_DIGEST_BYTES = 16


def digests(hosts: Iterable[int], paths: Iterable[str]) -> Digests:
    """Return the digests of URLs, given as common hosts and paths."""
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
        order = np.lexsort((known[:, 1], known[:, 0]))
        self._high, self._low = known[order, 0], known[order, 1]
        self._pages = order.astype(np.int64)

    def twice(self) -> tuple[int, int] | None:
        """Return two pages with the same URL, or None."""
        alike = (self._high[1:] == self._high[:-1]) & (self._low[1:] == self._low[:-1])
        for place in np.flatnonzero(alike)[:1].tolist():
            return int(self._pages[place]), int(self._pages[place + 1])
        return None

    def find(self, wanted: Digests) -> NDArray[np.int64]:
        """Return the page of each digest, or `UNKNOWN`."""
        found = np.full(len(wanted), UNKNOWN, dtype=np.int64)
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
        """Return the common host of each host of a shard. Knowledge of several shards is merged."""
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
    """Return the shard that the host belongs to."""
    return shard_of(site(host_of_url(f"{origin}/")), shards)


@dataclass(slots=True)
class _Unheard:
    row: UrlRow
    page: int


class Unheard:
    """Pages that their owners have not heard of."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._found: dict[bytes, _Unheard] = {}

    def __len__(self) -> int:
        return len(self._found)

    def pages(self, found: Digests, urls: Sequence[UrlRow]) -> list[int]:
        """Return the pages of these URLs. A page has the least depth that any shard knows."""
        return [self._page(digest.tobytes(), row) for digest, row in zip(found, urls, strict=True)]

    def rows(self) -> Iterator[UrlRow]:
        """Yield the rows of all pages, in order."""
        return (one.row._replace(id=one.page) for one in self._found.values())

    def _page(self, digest: bytes, row: UrlRow) -> int:
        known = self._found.get(digest)
        if known is None:
            known = self._found[digest] = _Unheard(row, self._first + len(self._found))
        elif row.depth < known.row.depth:
            known.row = row
        return known.page


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
_OF_ALL = (tables.SETTINGS, tables.WISHES, tables.CONVERGES)
"""Counters that are equal in all shards."""


class NumberedStore(NamedTuple):
    """A shard's store, with the common page of each page and the common host of each host."""

    store: ShardStore
    pages: Pages
    hosts: Sequence[int]
    own: range
    """Numbers of the shard's own pages."""


def blocks(rows: Iterable[Row], size: int = ROWS_AT_ONCE) -> Iterator[list[Row]]:
    """Yield the rows in blocks."""
    source = iter(rows)
    while block := list(islice(source, size)):
        yield block


def write_rows_of_all(shards: Sequence[NumberedStore], out: StoreWriter) -> int:
    """Write requests, documents, originals and mirrors. Return the number of requests."""
    requests = 0
    for fetches in blocks(merge(*map(_fetches, shards), key=_moment)):
        out.commit(Batch(fetches=fetches))
        requests += len(fetches)
    for shard in shards:
        for documents in blocks(_documents(shard)):
            out.commit(Batch(documents=documents))
    for found in blocks(_originals(shards)):
        out.commit(Batch(originals=found))
    add_mirrors(out, _mirrors(shards))
    return requests


def counters_of_all(shards: Sequence[NumberedStore]) -> dict[str, object]:
    """Return the merged counters of all shards."""
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


def _fetches(shard: NumberedStore) -> Iterator[FetchRow]:
    pages = shard.pages
    return (FetchRow(int(pages[row.page]), *row[1:]) for row in fetch_rows(shard.store.connection))


def _documents(shard: NumberedStore) -> Iterator[DocumentRow]:
    pages = shard.pages
    return (
        DocumentRow(int(pages[row.page]), *row[1:])
        for row in tables.all_documents(shard.store.connection)
    )


def _originals(shards: Sequence[NumberedStore]) -> Iterator[tuple[int, str]]:
    """Yield original URLs. The owner of a page takes precedence over other shards."""
    told = set[int]()
    for is_own in (True, False):
        for shard in shards:
            for page, url in originals(shard.store.connection):
                number = int(shard.pages[page])
                if (number in shard.own) is is_own and number not in told:
                    told.add(number)
                    yield number, url


def _mirrors(shards: Sequence[NumberedStore]) -> list[tuple[int, int, int]]:
    found = Counter[tuple[int, int]]()
    for shard in shards:
        for host, of_host, pages in tables.mirrors(shard.store.connection):
            found[shard.hosts[host], shard.hosts[of_host]] += pages
    return [(*pair, pages) for pair, pages in sorted(found.items())]


def _moment(row: FetchRow) -> float:
    return row.at
