"""What stores say of their pages beside the log: requests, documents, original URLs, mirrors.

Law: each row is there once, with the page of all that it is about. Requests are in the order of
time over all shards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple, TypeVar

from minicrawl.cluster.gather.names import Pages
from minicrawl.cluster.gather.stores import ShardStore
from minicrawl.store import tables
from minicrawl.store.merging import add_mirrors, fetch_rows, originals
from minicrawl.store.records import Batch, DocumentRow, FetchRow
from minicrawl.store.writer import StoreWriter

Row = TypeVar("Row")

ROWS_AT_ONCE = 50_000
_LARGEST = frozenset(("running_s",))
"""Counters of which that of the busiest shard counts; the others are added up."""
_OF_ALL = (tables.SETTINGS, tables.WISHES, tables.CONVERGES)
"""Counters that all shards share."""


class NumberedStore(NamedTuple):
    """A shard's store, with the page of all for each of its pages, and the host for each host."""

    store: ShardStore
    pages: Pages
    hosts: Sequence[int]
    own: range
    """Its own pages among all."""


def blocks(rows: Iterable[Row], size: int = ROWS_AT_ONCE) -> Iterator[list[Row]]:
    """The rows, so many at once."""
    source = iter(rows)
    while block := list(islice(source, size)):
        yield block


def write_rows_of_all(shards: Sequence[NumberedStore], out: StoreWriter) -> int:
    """All requests, documents, originals and mirrors; answers with the number of requests."""
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
    """What the shards counted, together."""
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
    """What the owner of a page says counts before what others say."""
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
