"""What a turn brings, as the order by siblings looks it up: means over all turns.

Law: a sum that moves with every step would change all keys with every step. So what the order uses
is the sum as of the last *round*. A round ends when a mean has moved by a thirty-second; then all
groups are keyed anew. Means settle, so rounds become rare. A round is told by sums alone, so the
same steps make the same rounds.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

_SMALL = 1 / 32


class Means:
    """What a turn brings: the means over all turns, as of the last round."""

    __slots__ = ("linked", "mean_linked", "mean_revealed", "revealed", "turns")

    def __init__(self) -> None:
        self.turns = self.linked = 0
        self.revealed = self.mean_revealed = self.mean_linked = 0.0

    def count(self, revealed: float, linked: int) -> bool:
        """One more turn; whether a round ends."""
        self.turns += 1
        self.revealed += revealed
        self.linked += linked
        now_revealed, now_linked = self.revealed / self.turns, self.linked / self.turns
        if _is_near(now_revealed, self.mean_revealed) and _is_near(now_linked, self.mean_linked):
            return False
        self.mean_revealed, self.mean_linked = now_revealed, now_linked
        return True

    def state(self) -> dict[str, bytes]:
        """All of it, by a name."""
        return {"means": array("d", [getattr(self, name) for name in self.__slots__]).tobytes()}

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Go on from what was saved."""
        for name, value in zip(self.__slots__, array("d", state["means"]), strict=True):
            setattr(self, name, type(getattr(self, name))(value))


def _is_near(now: float, last: float) -> bool:
    return abs(now - last) <= last * _SMALL
