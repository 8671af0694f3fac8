"""Messages of a crawl on many nodes, extrapolated from the counts of a simulation.

pair      ordered pair of shards, with batches of its own
gap       time between two batches of a pair: until a batch is full, or until its first transfer,
          which arrives at a random time, has waited long enough
"""

from dataclasses import dataclass

SIMULATED_SHARDS = 64
"""Number of shards in a simulation, and the least number in the real crawl."""
TRANSFER_BYTES = 100
"""A URL of 75 bytes, and the numbers beside it."""
BATCH_BYTES = 200
"""An empty batch, and the engine's overhead for a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCrawl:
    """A crawl to estimate: `pages` are known at its end, and each node reads `pace` pages/s.

    A batch is sent when it has `transfers`, or when its first transfer has waited `wait_s`.
    """

    nodes: int
    pages: int
    pace: float
    wait_s: float
    transfers: int

    @property
    def shards(self) -> int:
        """Number of shards: one for each node, but at least `SIMULATED_SHARDS`."""
        return max(self.nodes, SIMULATED_SHARDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Traffic of all nodes together per second, and size of a batch."""

    transfers_s: float
    batches_s: float
    in_a_batch: float
    megabytes_s: float


def traffic(crawl: RealCrawl, transfers_per_page: float) -> Traffic:
    """Estimate the traffic if each page read leads to this many transfers."""
    transfers_s = crawl.nodes * crawl.pace * transfers_per_page
    pairs = crawl.shards * (crawl.shards - 1)
    rate = transfers_s / pairs
    gap_s = min(crawl.wait_s + 1 / rate, crawl.transfers / rate) if rate else 0
    batches_s = pairs / gap_s if gap_s else 0.0
    return Traffic(
        transfers_s=transfers_s,
        batches_s=batches_s,
        in_a_batch=transfers_s / batches_s if batches_s else 0.0,
        megabytes_s=(transfers_s * TRANSFER_BYTES + batches_s * BATCH_BYTES) / 1e6,
    )
