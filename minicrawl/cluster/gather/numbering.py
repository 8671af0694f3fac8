"""The pages of all shards get their numbers, and their URLs are written.

Law: each URL is one page. First the own pages of all shards are numbered; then foreign pages are
looked up among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.gather.holdings import Holdings
from minicrawl.cluster.gather.names import (
    UNKNOWN,
    Digests,
    Hosts,
    PageIndex,
    Pages,
    Unheard,
    digests,
    owner_of,
)
from minicrawl.cluster.gather.rows import NumberedStore, blocks
from minicrawl.cluster.gather.stores import ShardStore
from minicrawl.errors import StoreError
from minicrawl.progress import Progress, part
from minicrawl.store import columns, tables
from minicrawl.store.merging import UrlColumns, url_columns
from minicrawl.store.records import Batch, UrlRow
from minicrawl.store.trouble import reporting_damage
from minicrawl.store.writer import StoreWriter

Ids = NDArray[np.int64]

_NO_DIGESTS = np.empty((0, 2), dtype=np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedShards:
    """The shards with the numbers of their pages, and how many pages nobody has heard of."""

    shards: Sequence[NumberedStore]
    unheard: int


def number_pages(
    stores: Sequence[ShardStore], held: Sequence[Holdings], out: StoreWriter, tell: Progress
) -> NumberedShards:
    """Number the pages of all shards and write their URLs and hosts."""
    hosts, shards, known = Hosts(), list[NumberedStore](), [_NO_DIGESTS]
    for place, (store, one) in enumerate(zip(stores, held, strict=True)):
        with reporting_damage(store.path):
            shards.append(_numbered(store, one, hosts, first=shards[-1].own.stop if shards else 0))
            known += _write_own(shards[-1], one, out)
            _refuse_pages_of_others(shards[-1], one, hosts)
        part(tell, 0, 0.5)((place + 1) / len(stores))
    index = PageIndex(np.concatenate(known))
    if (twice := index.twice()) is not None:
        first, other = (tables.url_of(out.connection, page) for page in twice)
        raise StoreError(f"{first} was born in two shards" + (f", as {other}" * (first != other)))
    unheard = Unheard(shards[-1].own.stop)
    for place, (shard, one) in enumerate(zip(shards, held, strict=True)):
        _find_foreign(shard, one, index, unheard)
        part(tell, 0.5, 1)((place + 1) / len(stores))
    for block in blocks(unheard.rows()):
        out.commit(Batch(urls=block))
    out.commit(Batch(hosts=hosts.rows))
    return NumberedShards(shards=shards, unheard=len(unheard))


def _numbered(store: ShardStore, held: Holdings, hosts: Hosts, first: int) -> NumberedStore:
    own = range(first, first + len(held.own.key))
    pages: Pages = np.zeros(len(held.is_own), dtype=np.uint32)
    pages[held.is_own] = np.arange(own.start, own.stop, dtype=np.uint32)
    return NumberedStore(store, pages, hosts.join(tables.hosts(store.connection)), own)


def _write_own(shard: NumberedStore, held: Holdings, out: StoreWriter) -> Iterator[Digests]:
    """Write the URLs of its own pages."""
    for ids, urls in _urls(shard, held.is_own):
        pages = shard.pages[ids].tolist()
        rows = map(UrlRow._make, zip(pages, urls.hosts, urls.paths, urls.depths, strict=True))
        out.commit(Batch(urls=list(rows)))
        yield digests(urls.hosts, urls.paths)


def _urls(shard: NumberedStore, chosen: NDArray[np.bool_]) -> Iterator[tuple[Ids, UrlColumns]]:
    """The chosen ones of its pages, with the hosts of all shards."""
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


def _refuse_pages_of_others(shard: NumberedStore, held: Holdings, hosts: Hosts) -> None:
    """A page is fetched by the shard of its site alone."""
    store = shard.store
    host_of = columns.whole(columns.urls(store.connection, "host"), "host")
    for host in np.unique(host_of[held.is_own]).tolist():
        origin = hosts.rows[shard.hosts[host]].origin
        if (owner := owner_of(origin, store.terms.shards)) != store.number:
            raise StoreError(
                f"{store.path} has pages of {origin} as its own, which are shard {owner}'s"
            )


def _find_foreign(shard: NumberedStore, held: Holdings, index: PageIndex, new: Unheard) -> None:
    for ids, urls in _urls(shard, ~held.is_own):
        wanted = digests(urls.hosts, urls.paths)
        found = index.find(wanted)
        unknown = np.flatnonzero(found == UNKNOWN)
        rows = [
            UrlRow(UNKNOWN, urls.hosts[place], urls.paths[place], urls.depths[place])
            for place in unknown.tolist()
        ]
        found[unknown] = new.pages(wanted[unknown], rows)
        shard.pages[ids] = found
