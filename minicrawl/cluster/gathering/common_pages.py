"""Map from the pages of a shard to common pages.

Law: two URLs are one page if they are equal. Equality is tested by a 128-bit hash, so a page
takes 24 bytes, no matter how long its URL is. A page that two shards have as their own was born
twice, which is a fault; so is an own page of a host that belongs to another shard.

own      own pages of a shard have consecutive numbers, one shard after another
unknown  pages that links lead to, but whose owner has not heard of them, are numbered last
"""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger.channels import shard_of
from minicrawl.store.records import HostRow
from minicrawl.web.sites import site
from minicrawl.web.urls import host as host_of_url

Numbers = NDArray[np.int64]
Digests = NDArray[np.uint64]
"""Two 64-bit numbers for each URL."""

UNKNOWN = -1
_DIGEST_BYTES = 16


def digests(hosts: Iterable[int], paths: Iterable[str]) -> Digests:
    """Return the digests of URLs, each given as a common host and a path."""
    joined = b"".join(
        [
            blake2b(
                b"%d %s" % (host, path.encode(errors="surrogatepass")), digest_size=_DIGEST_BYTES
            ).digest()
            for host, path in zip(hosts, paths, strict=True)
        ]
    )
    return np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)


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

    def find(self, hashes: Digests) -> Numbers:
        """Return the page of each digest, or `UNKNOWN`."""
        pages = np.full(len(hashes), UNKNOWN, dtype=np.int64)
        # The search finds the first entry with the upper half of a digest. Entries with the same
        # upper half, which are very rare, are then tried one after another, for all digests at
        # once.
        places = np.searchsorted(self._high, hashes[:, 0])
        left = np.arange(len(hashes))
        while len(left := left[places[left] < len(self._high)]):
            left = left[self._high[places[left]] == hashes[left, 0]]
            is_hit = self._low[places[left]] == hashes[left, 1]
            pages[left[is_hit]] = self._pages[places[left[is_hit]]]
            left = left[~is_hit]
            places[left] += 1
        return pages


class Hosts:
    def __init__(self) -> None:
        self.rows: list[HostRow] = []
        self._ids: dict[str, int] = {}

    def join(self, rows: Iterable[HostRow]) -> list[int]:
        """Return the common host of each host of a shard, and merge what shards know of it."""
        numbers: list[int] = []
        for row in rows:
            numbers.append(number := self._ids.setdefault(row.origin, len(self.rows)))
            if number == len(self.rows):
                self.rows.append(row._replace(id=number))
            else:
                known = {name: value for name, value in row._asdict().items() if value is not None}
                self.rows[number] = self.rows[number]._replace(**known)._replace(id=number)
        return numbers


def owner_of(origin: str, shards: int) -> int:
    return shard_of(site(host_of_url(f"{origin}/")), shards)
