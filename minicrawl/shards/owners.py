"""Which shard a site belongs to.

Law: the answer depends on the name of the site and the number of shards alone, and is the same on
every machine and in every version. The number of shards never changes in a crawl; it is larger than
that of the nodes, so that shards move and pages do not.

A shard owns whole sites, not hosts: quotas, traps and budgets judge sites, and most links stay in
their site, so most cash stays in its shard.
"""

from hashlib import blake2b
from typing import NamedTuple

SHARDS = 64
"""Unless the user chose another number at the start."""

MOST_SHARDS = 1 << 16
_BYTES = 8


def shard_of(site: str, shards: int = SHARDS) -> int:
    """The shard of the site, from 0 on."""
    digest = blake2b(site.encode(errors="surrogatepass"), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big") * shards >> 8 * _BYTES


class ShardPlace(NamedTuple):
    """A shard of a crawl: its number, and how many there are."""

    number: int
    of: int

    def owner(self, site: str) -> int:
        """The shard that the site belongs to."""
        return shard_of(site, self.of)
