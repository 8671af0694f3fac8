"""Running means over all turns of what a turn reveals.

A mean that moves with every step would change all keys with every step. So the order uses the
means as of the last *round*. A round ends when the mean has moved by 1/32, or the relevance by
1/16; then all groups get new keys. Means settle, so rounds become rare. A round depends on the
sums alone, so the same steps make the same rounds.

late       moving average of what recent turns revealed: the weight of a turn falls to .39 while
           the number of turns grows by a tenth
relevance  weight of what siblings revealed: .25 + .75 late / (mean over all turns), at most 1.
           When next to nothing is left to reveal, pages without links are worth nearly as much as
           others. It never falls below .25, as more pages may be hidden
"""

from array import array
from collections.abc import Mapping

AT_ONCE, MOST_AT_ONCE, PART_AT_ONCE = 32, 64, 8192
FEWEST_TURNS = 200
"""Below this number of turns, `late` is too noisy to use. A wiki reveals most of its pages in its
first turns: what siblings revealed is still informative there, though nothing is left to reveal.
"""
_LATE = 10
_LEAST_RELEVANCE = 0.25
_SMALL, _SMALL_RELEVANCE = 1 / 32, 1 / 16
_SUMS = ("mean_revealed", "revealed", "turns")


def at_once(turns: int) -> int:
    """Return the number of turns that are evaluated together: a few, more in a large crawl."""
    return max(AT_ONCE, min(turns // PART_AT_ONCE, MOST_AT_ONCE))


class Means:
    """Means over all turns, as of the last round."""

    def __init__(self) -> None:
        self.turns = 0
        self.revealed = self.mean_revealed = self.late = 0.0
        self.relevance = 1.0

    def count(self, revealed: float) -> bool:
        """Count one more turn; return True if it ends a round."""
        self.turns += 1
        self.revealed += revealed
        self.late += (revealed - self.late) * _LATE / (self.turns + _LATE - 1)
        mean = self.revealed / self.turns
        relevance = 1.0
        if self.turns > FEWEST_TURNS and self.late < mean:
            relevance = _LEAST_RELEVANCE + (1 - _LEAST_RELEVANCE) * self.late / mean
        # Within these bounds the order keeps its means: new ones give all groups new keys.
        if (
            abs(mean - self.mean_revealed) <= self.mean_revealed * _SMALL
            and abs(relevance - self.relevance) <= _SMALL_RELEVANCE
        ):
            return False
        self.mean_revealed, self.relevance = mean, relevance
        return True

    def state(self) -> dict[str, bytes]:
        sums = array("d", [getattr(self, name) for name in _SUMS])
        late = array("d", [self.late, self.relevance])
        return {"means": sums.tobytes(), "late": late.tobytes()}

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Continue from a saved state.

        Older stores have sums of links before these sums, and may lack `late`.
        """
        for name, value in zip(_SUMS, array("d", state["means"])[-len(_SUMS) :], strict=True):
            setattr(self, name, type(getattr(self, name))(value))
        self.late = self.mean_revealed
        if "late" in state:
            self.late, self.relevance = array("d", state["late"])
