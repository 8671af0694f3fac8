"""What a crawl on many nodes sends, by what was counted in a smaller one.

pair      an ordered pair of shards; each has batches of its own
gap       the time from one batch of a pair to the next: until it is full, or until the first
          transfer of it, which comes at random, has waited long enough
"""

from dataclasses import dataclass

from minicrawl.shards.owners import SHARDS

TRANSFER_BYTES = 100
"""A URL of 75 bytes and what is said of it."""
BATCH_BYTES = 200
"""A batch without transfers, and what an engine adds to a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCrawl:
    """The crawl that is asked for: `pages` known at its end, `pace` pages a second on each node.

    A batch is sent when it has `transfers`, or when its first one has waited `wait_s`.
    """

    nodes: int
    pages: int
    pace: float
    wait_s: float
    transfers: int

    @property
    def shards(self) -> int:
        """As many as nodes, and never fewer than usual."""
        return max(self.nodes, SHARDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """All nodes together, in a second; and in one batch."""

    transfers_s: float
    batches_s: float
    in_a_batch: float
    megabytes_s: float


def traffic(crawl: RealCrawl, a_page: float) -> Traffic:
    """Of a crawl in which a page that is read leads to so many transfers."""
    transfers_s = crawl.nodes * crawl.pace * a_page
    pairs = crawl.shards * (crawl.shards - 1)
    by_pair = transfers_s / pairs
    gap_s = min(crawl.wait_s + 1 / by_pair, crawl.transfers / by_pair) if by_pair else 0
    batches_s = pairs / gap_s if gap_s else 0.0
    return Traffic(
        transfers_s=transfers_s,
        batches_s=batches_s,
        in_a_batch=transfers_s / batches_s if batches_s else 0.0,
        megabytes_s=(transfers_s * TRANSFER_BYTES + batches_s * BATCH_BYTES) / 1e6,
    )
