"""How far a rank agrees with the grades that people gave to some of its nodes.

A rank is judged by its order alone, not by how strictly people grade: the scores are cut into
grades so that each grade goes to as many nodes as people gave it to.

Laws: whoever has the better score has no worse grade; of equals the first node is the better one,
whatever people say of it, and a remark counts those of whom that decides. In the table
`table[i][j]` are the nodes with the grade i + 1 of people and j + 1 of the rank; its rows sum to
the same as its columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.ranks.compare import Floats, Ints, spearman

GRADES = 4
"""They are 1 to 4; the best is 4, or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A rank beside people; shares of the nodes that were judged."""

    judged: int
    equal: float
    within_one: float
    by_chance: float
    """What would be equal if the same grades were dealt blindly."""
    spearman: float | None
    table: tuple[tuple[int, ...], ...]
    remarks: tuple[str, ...]


def agreement(scores: Floats, grades: Ints, *, best: int = GRADES) -> Agreement:
    """Node i has the score `scores[i]` and got `grades[i]` from people; there is at least one."""
    upward = _upward(grades, best)
    cut = _upward(graded(scores, upward), best)
    table = np.bincount((grades - 1) * GRADES + cut - 1, minlength=GRADES**2)
    apart, dealt = np.abs(cut - grades), np.bincount(grades) / len(grades)
    return Agreement(
        judged=len(grades),
        equal=float((apart == 0).mean()),
        within_one=float((apart <= 1).mean()),
        by_chance=float(dealt @ dealt),
        spearman=spearman(scores, upward.astype(np.float64)),
        table=tuple(map(tuple, table.reshape(GRADES, GRADES).tolist())),
        remarks=tuple(_remarks(scores, cut)),
    )


def graded(scores: Floats, grades: Ints) -> Ints:
    """The grade of each score, the best getting most; of each there are as many as in `grades`."""
    cut = np.empty_like(grades)
    cut[np.argsort(-scores, kind="stable")] = -np.sort(-grades)
    return cut


def _upward(grades: Ints, best: int) -> Ints:
    """The more, the better; and the same backwards."""
    return grades if best == GRADES else GRADES + 1 - grades


def _remarks(scores: Floats, cut: Ints) -> Iterator[str]:
    if decided := _tied_across(scores, cut):
        yield f"nodes that share a score and not a grade, the first being the better: {decided:,}"
    if (scores == scores[0]).all():
        yield "all scores are equal: they have no order"


def _tied_across(scores: Floats, cut: Ints) -> int:
    """Nodes that share their score with one that is graded otherwise."""
    _, levels, counts = np.unique(scores, return_inverse=True, return_counts=True)
    sums = np.bincount(levels, cut)
    squares = np.bincount(levels, cut * cut)
    is_mixed: NDArray[np.bool_] = squares * counts != sums * sums
    return int(counts[is_mixed].sum())
