"""Rows of pages outside the log: URLs, requests, documents, original URLs, mirrors.

Laws: each URL is one page. The own pages of all shards are numbered first; then foreign pages are
looked up among them. Each row is written once, with the common number of its page. Requests of all
shards are ordered by time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import compress, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.gathering.common_pages import (
    NO_DIGESTS,
    UNKNOWN,
    Hosts,
    Numbers,
    PageIndex,
    digests,
    owner_of,
)
from minicrawl.cluster.gathering.shard_stores import AT, LoadedShard, PageSource
from minicrawl.crawl.start.opening import FIRST_SEEDS
from minicrawl.errors import StoreError
from minicrawl.ports import Progress, part
from minicrawl.store import page_columns, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.merging import UrlColumns, add_merged, url_columns
from minicrawl.store.questions import originals
from minicrawl.store.records import Batch, DocumentRow, FetchRow, UrlRow
from minicrawl.store.request_log import fetch_rows
from minicrawl.store.writer import StoreWriter

Row = TypeVar("Row")

ROWS_AT_ONCE = 50_000
SUMMED = ("fetched", "requests", "wire_bytes", "born")
_LARGEST = frozenset(("running_s", FIRST_SEEDS))
"""Counters of which the largest counts; others are added up."""
OF_ALL = (tables.SETTINGS, tables.LAST_RUN_SETTINGS, tables.CONVERGES, tables.FORGOTTEN)
"""Counters that are equal in all shards."""


def blocks(rows: Iterable[Row], size: int = ROWS_AT_ONCE) -> Iterator[list[Row]]:
    source = iter(rows)
    while block := list(islice(source, size)):
        yield block


def write_rows_of_all(shards: Sequence[PageSource], out: StoreWriter) -> int:
    """Write requests, documents, original URLs and mirrors. Return the number of requests."""
    requests = 0
    for fetches in blocks(merge(*map(_fetches, shards), key=AT)):
        out.commit(Batch(fetches=fetches))
        requests += len(fetches)
    for shard in shards:
        for rows in blocks(tables.all_documents(shard.store.connection)):
            own = (row for row in rows if shard.is_own[row.page])
            documents = [DocumentRow(int(shard.pages[row.page]), *row[1:]) for row in own]
            out.commit(Batch(documents=documents))
    for urls in blocks(_originals(shards)):
        out.commit(Batch(originals=urls))
    mirrors = Counter[tuple[int, int]]()
    for shard in shards:
        for host, of_host, pages in tables.mirrors(shard.store.connection):
            pair = shard.hosts[host], shard.hosts[of_host]
            if UNKNOWN not in pair:
                mirrors[pair] += pages
    add_merged(out, mirrors=[(*pair, pages) for pair, pages in sorted(mirrors.items())])
    return requests


def counters_of_all(shards: Sequence[LoadedShard]) -> dict[str, object]:
    known = [tables.counters(shard.store.connection) for shard in shards]
    merged = {name: known[0][name] for name in OF_ALL if name in known[0]}
    for name in (*SUMMED, *_LARGEST):
        counts = (counters.get(name) for counters in known)
        numbers = [count for count in counts if isinstance(count, int | float)]
        if numbers:
            merged[name] = max(numbers) if name in _LARGEST else sum(numbers)
    ends = {
        shard.store.number: end
        for shard, counters in zip(shards, known, strict=True)
        if (end := counters.get(tables.ARCHIVE_END)) is not None
    }
    series = [warc for counters in known if isinstance(warc := counters.get(tables.WARC), dict)]
    if series:
        sums = {
            name: sum(warc.get(name, 0) for warc in series) for name in ("bodies", "saved_bytes")
        }
        merged[tables.WARC] = sums
    return merged | {tables.ARCHIVES: ends} if ends else merged


def _fetches(shard: PageSource) -> Iterator[FetchRow]:
    own = (row for row in fetch_rows(shard.store.connection) if shard.is_own[row.page])
    return (FetchRow(int(shard.pages[row.page]), *row[1:]) for row in own)


def _originals(shards: Sequence[PageSource]) -> Iterator[tuple[int, str]]:
    """Yield original URLs. The owner of a page takes precedence over other shards."""
    written = set[int]()
    for shard, chosen in (
        *((shard, shard.is_own) for shard in shards),
        *((shard, shard.is_foreign) for shard in shards),
    ):
        for page, url in originals(shard.store.connection):
            number = int(shard.pages[page])
            if chosen[page] and number not in written:
                written.add(number)
                yield number, url


def number_pages(
    shards: Sequence[LoadedShard], hosts: Hosts, out: StoreWriter, progress: Progress
) -> int:
    """Number the foreign pages of all shards, and write URLs and hosts.

    Return the number of pages that their owners have not heard of.
    """
    known = [NO_DIGESTS]
    for count, shard in enumerate(shards, 1):
        with reporting_damage(shard.store.path):
            written = write_urls(shard, shard.is_own, out)
            known.extend(digests(urls.hosts, urls.paths) for urls in written)
            store = shard.store
            host_of = page_columns.whole(store.connection, "urls", "host")
            for host in np.unique(host_of[shard.is_own]).tolist():
                origin = hosts.rows[shard.hosts[host]].origin
                if (owner := owner_of(origin, store.terms.shards)) != store.number:
                    raise StoreError(
                        f"{store.path} has pages of {origin} as its own, which are shard {owner}'s"
                    )
        part(progress, 0, 0.5)(count / len(shards))
    index = PageIndex(np.concatenate(known))
    if (twice := index.twice()) is not None:
        first, other = (tables.url_of(out.connection, page) for page in twice)
        raise StoreError(f"{first} was born in two shards" + (f", as {other}" * (first != other)))
    unknown, first_unknown = dict[bytes, UrlRow](), shards[-1].own.stop
    for count, shard in enumerate(shards, 1):
        for ids, urls in _urls(shard, shard.is_foreign):
            hashes = digests(urls.hosts, urls.paths)
            pages = index.find(hashes)
            for place in np.flatnonzero(pages == UNKNOWN).tolist():
                number, digest = first_unknown + len(unknown), bytes(hashes[place])
                row = UrlRow(number, urls.hosts[place], urls.paths[place], urls.depths[place])
                page = unknown.setdefault(digest, row)
                # A page has the least depth that any shard knows.
                unknown[digest] = page._replace(depth=min(page.depth, row.depth))
                pages[place] = page.id
            shard.pages[ids] = pages
        part(progress, 0.5, 1)(count / len(shards))
    for block in blocks(unknown.values()):
        out.commit(Batch(urls=block))
    out.commit(Batch(hosts=hosts.rows))
    return len(unknown)


def write_urls(
    shard: PageSource, chosen: NDArray[np.bool_], out: StoreWriter
) -> Iterator[UrlColumns]:
    """Write the URLs of the chosen pages, and yield them."""
    for ids, urls in _urls(shard, chosen):
        columns = shard.pages[ids].tolist(), urls.hosts, urls.paths, urls.depths
        out.commit(Batch(urls=list(map(UrlRow._make, zip(*columns, strict=True)))))
        yield urls


def _urls(shard: PageSource, chosen: NDArray[np.bool_]) -> Iterator[tuple[Numbers, UrlColumns]]:
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
