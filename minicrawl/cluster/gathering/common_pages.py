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
Digests = NDArray[np.bytes_]

UNKNOWN = -1
_DIGEST_BYTES = 16
NO_DIGESTS: Digests = np.empty(0, dtype=f"S{_DIGEST_BYTES}")


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
    return np.frombuffer(joined, dtype=NO_DIGESTS.dtype)


class PageIndex:
    """Index of pages by URL: page i has the i-th digest."""

    def __init__(self, known: Digests) -> None:
        # 128 bits are enough to take equal digests for equal URLs: among a billion pages, two of
        # them agree by chance with a probability of about 1e-21. Keeping the URLs themselves would
        # take several times the memory.
        self._pages = np.argsort(known, kind="stable").astype(np.int64)
        self._known = known[self._pages]

    def twice(self) -> tuple[int, int] | None:
        """Return two pages with the same URL, or None."""
        for place in np.flatnonzero(self._known[1:] == self._known[:-1])[:1].tolist():
            return int(self._pages[place]), int(self._pages[place + 1])
        return None

    def find(self, hashes: Digests) -> Numbers:
        """Return the page of each digest, or `UNKNOWN`."""
        pages = np.full(len(hashes), UNKNOWN, dtype=np.int64)
        places = np.searchsorted(self._known, hashes)
        inside = np.flatnonzero(places < len(self._known))
        hits = inside[self._known[places[inside]] == hashes[inside]]
        pages[hits] = self._pages[places[hits]]
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
