"""Live shares: the part of a host's pages that is likely to be alive. Pure.

Cash does not say whether a page is still there. Dead links come in crowds: all pages of a host that
is gone, most old ones of a site that has moved. So the key of a page is multiplied by the share of
live answers that is expected of its host, and of its siblings. If D of F requested pages were dead:

    host       h = 1 - D / (F + 1), here
    siblings   1 - (D + 3 (1 - h)) / (F + 3), in `values`

Both are 1 while no request fails, and for an unknown host. Nothing is lost: dead pages come later.

Example: 3 pages of a host were requested, and all were dead: h = .25. Two of them were siblings:
their others have the share 1 - (2 + 3 * .75) / 5 = .15.

A host's share takes effect when it has moved by an eighth, as it changes the keys of all its pages.
"""

from array import array
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_MOVED = 1 / 8
_COLUMNS = ("turns", "dead", "share")


class LiveShares:
    """Expected share of live answers of each host."""

    def __init__(self) -> None:
        self.turns, self.dead, self.share = array("I"), array("I"), array("d")
        self.holds_back = False
        """True if the share of any host has been below 1."""

    def count(self, host: int, *, is_dead: bool) -> bool:
        """Count the answer of a page of the host; return True if a larger share took effect.

        Keys that are too low must be raised at once, or their pages would be passed over. Keys that
        are too high are found when their turn comes.
        """
        if (missing := host + 1 - len(self.turns)) > 0:
            self.turns.frombytes(bytes(4 * missing))
            self.dead.frombytes(bytes(4 * missing))
            self.share.extend([1.0] * missing)
        self.turns[host] += 1
        self.dead[host] += is_dead
        share, before = 1 - self.dead[host] / (self.turns[host] + 1), self.share[host]
        if abs(share - before) <= _MOVED * before:
            return False
        self.share[host], self.holds_back = share, True
        return share > before

    def of(self, host: int) -> float:
        return self.share[host] if host < len(self.share) else 1.0

    def of_many(self, hosts: NDArray[np.uint32]) -> NDArray[np.float64]:
        shares, known = np.ones(len(hosts)), hosts < len(self.share)
        shares[known] = np.frombuffer(self.share)[hosts[known]]
        return shares

    def state(self) -> dict[str, bytes]:
        return {f"live.{name}": getattr(self, name).tobytes() for name in _COLUMNS}

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Continue from a saved state. Older stores have none, and count from now on."""
        for name in _COLUMNS:
            getattr(self, name).frombytes(state.get(f"live.{name}", b""))
        self.holds_back = any(share < 1 for share in self.share)
