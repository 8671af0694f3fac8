"""What a turn brings, as the order by siblings looks it up: means over all turns.

Law: a sum that moves with every step would change all keys with every step. So what the order uses
is the sum as of the last *round*. A round ends when a mean has moved by a thirty-second, or the
relevance by a sixteenth; then all groups are keyed anew. Means settle, so rounds become rare. A
round is told by sums alone, so the same steps make the same rounds.

late       what a turn revealed of late: a mean in which a turn counts until ten times as many have
           followed
relevance  of what siblings have revealed: .25 + .75 late / the mean over all turns, at most 1. When
           next to nothing is left to reveal, pages without links are worth nearly as much as
           others. It stays .25, as there may be more that is hidden
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

AT_ONCE, MOST_AT_ONCE, PART_AT_ONCE = 32, 64, 8192
FEWEST_TURNS = 1000
"""Before that many, what was revealed of late says little. A wiki tells of most of its pages at
once: there what siblings have shown is of use though nothing is left to reveal.
"""
_LATE = 10
_LEAST_RELEVANCE = 0.25
_SMALL, _SMALL_RELEVANCE = 1 / 32, 1 / 16
_SUMS = ("mean_revealed", "revealed", "turns")


def at_once(turns: int) -> int:
    """So many turns are looked at together, of so many so far: a few, and more in a large crawl."""
    return max(AT_ONCE, min(turns // PART_AT_ONCE, MOST_AT_ONCE))


class Means:
    """What a turn brings: the means over all turns, as of the last round."""

    __slots__ = (*_SUMS, "late", "relevance")

    def __init__(self) -> None:
        self.turns = 0
        self.revealed = self.mean_revealed = self.late = 0.0
        self.relevance = 1.0

    def count(self, revealed: float) -> bool:
        """One more turn; whether a round ends."""
        self.turns += 1
        self.revealed += revealed
        self.late += (revealed - self.late) * _LATE / (self.turns + _LATE - 1)
        mean = self.revealed / self.turns
        relevance = self._relevance(mean)
        if (
            abs(mean - self.mean_revealed) <= self.mean_revealed * _SMALL
            and abs(relevance - self.relevance) <= _SMALL_RELEVANCE
        ):
            return False
        self.mean_revealed, self.relevance = mean, relevance
        return True

    def _relevance(self, mean: float) -> float:
        if self.turns <= FEWEST_TURNS or self.late >= mean:
            return 1.0
        return _LEAST_RELEVANCE + (1 - _LEAST_RELEVANCE) * self.late / mean

    def state(self) -> dict[str, bytes]:
        """All of it, by names."""
        sums = array("d", [getattr(self, name) for name in _SUMS])
        late = array("d", [self.late, self.relevance])
        return {"means": sums.tobytes(), "late": late.tobytes()}

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Go on from what was saved. Stores of before have sums of links as well, which come first,
        and may have nothing of late.
        """
        for name, value in zip(_SUMS, array("d", state["means"])[-len(_SUMS) :], strict=True):
            setattr(self, name, type(getattr(self, name))(value))
        self.late = self.mean_revealed
        if "late" in state:
            self.late, self.relevance = array("d", state["late"])
