"""The rank of waiting pages at the start of a crawl, from the few links read so far.

While few pages are read, cash says little: each link has passed it on once, and most pages hold the
cash of one or two others. PageRank uses every link read in every iteration, and for a few thousand
pages it costs next to nothing. So from the third turn to the 4,096th the sibling order ranks
waiting pages by an estimate in place of their cash:

computed    whenever turns have grown by a quarter: PageRank of the known pages, by five iterations
            from the last estimates, or at first from equal ones
returned    the part of a gift that a waiting page gives back: .7. What nobody has read could lead
            anywhere, so rank flows on among the pages read. Without this, wikis lose a percent
jumps       15 % of the rank, and that of pages read without links. The seeds weigh as much as a
            page for each ten units of their endowment, and get at least 5 %, because the user chose
            them; the rest goes to all pages. Seeds without an endowment weigh nothing
in between  a page that is read passes 85 % of its estimate on to its links, and new pages begin
            with one unit

Example: a seed that holds all rank, 1, was read and links to two pages that wait. Each is given
.425 and returns .2975. So after one iteration they have .1275 each, the seed has .595, and of .15
that jump, 100 / 103 go to the seed as well, if it was endowed with 1,000 units. It then has .742,
and each of the two .129.

Estimates have the unit and the mean of the cash of waiting pages, so keys stay comparable when
cash takes their place. Cash is read, never moved. Only sums in a fixed order are used: the same
steps give bit-identical estimates.
"""

from array import array
from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.ledger import UNREAD, Ledger
from minicrawl.opic.ledger.money import PARTS, SMALL_EDGE, UNIT, in_parts

FIRST_TURN, LAST_TURN = 3, 4096
"""Turns between which there are estimates. A later end gains nothing and takes more memory."""
MOST_LINKS = 1 << 18
"""Estimates also end with this number of links, to bound memory and time."""
_DAMPING, _RETURNED, _ITERATIONS = 1 - SMALL_EDGE, 0.7, 5
_DAMPING_PARTS = in_parts(_DAMPING)
_UNITS_A_PAGE, _LEAST_TO_SEEDS = 10, 0.05
"""Units of an endowment that weigh as much in jumps as a page; the least part for endowed seeds."""

Floats = NDArray[np.float64]


class EarlyRank:
    """The links read so far, and the estimates once there are any."""

    def __init__(self) -> None:
        self.estimates = array("q")
        """Estimate of each known page in atoms; empty before the first computation."""
        self._givers, self._targets = array("I"), array("I")
        self._due = FIRST_TURN

    def grow(self, known: int) -> None:
        """Begin the estimates of new pages, so that there are `known`."""
        if self.estimates:
            self.estimates.extend(repeat(UNIT, known - len(self.estimates)))

    def read(self, page: PageId, targets: Sequence[PageId]) -> None:
        """Note the links of a page that was read, and pass its estimate on."""
        self._givers.extend(repeat(page, len(targets)))
        self._targets.extend(targets)
        if (estimates := self.estimates) and targets:
            share = (estimates[page] * _DAMPING_PARTS // PARTS) // len(targets)
            for target in targets:
                estimates[target] += share

    def is_due(self, turns: int) -> bool:
        return turns >= self._due

    def is_over(self, turns: int) -> bool:
        """Return True if cash is a better guide from now on."""
        return turns >= LAST_TURN or len(self._targets) >= MOST_LINKS

    def hurry(self, turns: int) -> None:
        """Compute anew after the next turn, because the seeds have changed."""
        self._due = max(FIRST_TURN, min(self._due, turns))

    def compute(self, turns: int, ledger: Ledger) -> None:
        """Compute the estimates of all known pages after this number of turns."""
        self._due = turns + turns // 4
        waits = np.frombuffer(ledger.flags, dtype=np.uint8) == UNREAD
        cash = np.frombuffer(ledger.key, dtype=np.int64)[waits].astype(np.float64)
        last = np.ones(len(waits))
        if self.estimates:
            last += np.frombuffer(self.estimates, dtype=np.int64)
        rank = self._ranks(last / last.sum(), waits, ledger.endowed)
        if (waiting := rank[waits].sum()) > 0:
            rank *= cash.sum() / waiting
        self.estimates = array("q", np.rint(rank).astype(np.int64).tobytes())

    def _ranks(
        self, rank: Floats, waits: NDArray[np.bool_], endowed: Mapping[PageId, int]
    ) -> Floats:
        """Return the ranks of all pages, whose sum is 1, after a few iterations from `rank`."""
        pages = len(rank)
        # Converted once: numpy would convert these numbers in each iteration.
        givers = np.frombuffer(self._givers, dtype=np.uint32).astype(np.intp)
        targets = np.frombuffer(self._targets, dtype=np.uint32).astype(np.intp)
        links = np.bincount(givers, minlength=pages)
        part = _DAMPING / np.maximum(links, 1)
        returned = np.where(waits.take(targets), _RETURNED, 0.0)
        passed = part.take(givers) * (1 - returned)
        damped = part * np.bincount(givers, returned, pages)
        jumping = np.where(links, 1 - _DAMPING, 1.0)
        to_seeds, atoms = 0.0, sum(endowed.values())
        if atoms:
            weight = atoms / UNIT / _UNITS_A_PAGE
            to_seeds = max(weight / (weight + pages), _LEAST_TO_SEEDS)
        jumps = np.full(pages, (1 - to_seeds) / pages)
        for seed, share in endowed.items():
            jumps[seed] += to_seeds * share / max(atoms, 1)
        for _ in range(_ITERATIONS):
            there = np.bincount(targets, rank.take(givers) * passed, pages)
            rank = there + rank * damped + (rank * jumping).sum() * jumps
        return rank

    def state(self) -> dict[str, bytes]:
        return {
            "early.due": array("I", [self._due]).tobytes(),
            "early.givers": self._givers.tobytes(),
            "early.targets": self._targets.tobytes(),
            "early.estimates": self.estimates.tobytes(),
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        (self._due,) = array("I", state["early.due"])
        self._givers.frombytes(state["early.givers"])
        self._targets.frombytes(state["early.targets"])
        self.estimates.frombytes(state["early.estimates"])
