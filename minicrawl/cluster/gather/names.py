"""Which page of all each page of a shard is.

Law: two URLs are one page if they are equal. They are told apart by 128 bits of a hash, so that a
page takes 24 bytes whatever its URL is. A page that two shards have as their own was born twice,
which is a fault; so is a page of a host that belongs to another shard.

own      The pages of a shard are numbered in a row, and the shards one after the other.
unheard  Pages that links lead to and whose owner has not heard of them: they are numbered last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from minicrawl.shards.owners import shard_of
from minicrawl.store.records import HostRow, UrlRow
from minicrawl.web.sites import site
from minicrawl.web.urls import host as host_of_url

Digests = NDArray[np.uint64]
"""Two numbers for each URL."""
Pages = NDArray[np.uint32]

UNKNOWN = -1
_DIGEST_BYTES = 16


def digests(hosts: Iterable[int], paths: Iterable[str]) -> Digests:
    """Of URLs by their hosts, which are those of all shards, and their paths."""
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
    """Pages by their URLs: page i is that of the i-th digest."""

    def __init__(self, known: Digests) -> None:
        order = np.lexsort((known[:, 1], known[:, 0]))
        self._high, self._low = known[order, 0], known[order, 1]
        self._pages = order.astype(np.int64)

    def twice(self) -> tuple[int, int] | None:
        """Two pages that have one URL."""
        alike = (self._high[1:] == self._high[:-1]) & (self._low[1:] == self._low[:-1])
        for place in np.flatnonzero(alike)[:1].tolist():
            return int(self._pages[place]), int(self._pages[place + 1])
        return None

    def find(self, wanted: Digests) -> NDArray[np.int64]:
        """The page of each digest, or `UNKNOWN`."""
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
    """The hosts of all shards, each once."""

    def __init__(self) -> None:
        self.rows: list[HostRow] = []
        self._ids: dict[str, int] = {}

    def join(self, rows: Iterable[HostRow]) -> list[int]:
        """The host of each host of a shard. What one shard knows of a host, all know."""
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
    """The shard that the host belongs to."""
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
        """The pages of these; the depth of a page is the least that a shard knows."""
        return [self._page(digest.tobytes(), row) for digest, row in zip(found, urls, strict=True)]

    def rows(self) -> Iterator[UrlRow]:
        """Of all, in the order of their pages."""
        return (one.row._replace(id=one.page) for one in self._found.values())

    def _page(self, digest: bytes, row: UrlRow) -> int:
        known = self._found.get(digest)
        if known is None:
            known = self._found[digest] = _Unheard(row, self._first + len(self._found))
        elif row.depth < known.row.depth:
            known.row = row
        return known.page
