"""How far two ranks of the same nodes agree, and how far a rank agrees with people.

Two ranks:

n           nodes that have a score in both; one without, which is NaN there, is left out. There are
            n (n - 1) / 2 pairs of them, some tied in one rank or in both
kendall     tau-b: (concordant - discordant) / sqrt(pairs untied in one * pairs untied in the other)
spearman    the correlation of the places; equals share the mean of theirs
overlap     the share of the best k that both have; of equals the first node comes first
error       |score - reference| / reference, both as shares of the nodes that are left; its mean
            over those whose reference is not 0, and over the tenth that the reference says is best.
            A reference of next to nothing makes it as large as you like, and a few of these the
            mean: the median beside it is that of the node in the middle

A rank and the grades that people gave to some nodes: the rank is judged by its order alone, not by
how strictly people grade. The scores are cut into grades so that each grade goes to as many nodes
as people gave it to. In the table `table[i][j]` are the nodes with the grade i + 1 of people and
j + 1 of the rank; its rows sum to the same as its columns.

Where several people judge, the grade of a node is the mean of theirs, rounded; a half is rounded
up. Each judge is held against it by the nodes that the judge graded, as the rank is by all. So one
sees whether the rank is as near to the judges as they are to each other.

Laws: there is never a NaN in what comes out; what has no number is None, and a remark says why. A
node with a better score has no worse grade. Of equals the first node is the better one, whatever
people say of it, and a remark counts the nodes for which that decides.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.estimate import shares
from minicrawl.progress import Progress, unreported

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEWEST = 2
"""Fewer have no order."""
_NOTHING = 1e-100
"""A share that is not greater came of rounding: an error in proportion to it says nothing."""


class RankErrors(NamedTuple):
    """The relative errors of some nodes."""

    mean: float
    median: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One rank beside another, the reference."""

    nodes: int
    left_out: int
    kendall: float | None
    spearman: float | None
    overlap: dict[int, float | None]
    """By k; None where there are fewer nodes."""
    errors: RankErrors | None
    errors_top10: RankErrors | None
    remarks: tuple[str, ...]


def compare(
    scores: NDArray[np.floating],
    reference: NDArray[np.floating],
    ks: Sequence[int],
    *,
    tell: Progress = unreported,
) -> Comparison:
    """Both have a place for every node, and a score of 0 or more or NaN there."""
    in_both = ~(np.isnan(scores) | np.isnan(reference))
    first, second = (values[in_both].astype(np.float64) for values in (scores, reference))
    errors, errors_top10 = _errors(first, second)
    return Comparison(
        nodes=len(first),
        left_out=len(in_both) - len(first),
        kendall=kendall(first, second, tell=tell),
        spearman=spearman(first, second),
        overlap=_overlaps(first, second, ks),
        errors=errors,
        errors_top10=errors_top10,
        remarks=tuple(_remarks(first, second, ks)),
    )


def places(scores: Floats) -> Floats:
    """The place of each score, the least being 1; equals share the mean of their places."""
    _, levels, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middle[levels]


def spearman(one: Floats, other: Floats) -> float | None:
    """The correlation of the places; None where all of a rank are equal."""
    first, second = (places(scores) - (len(scores) + 1) / 2 for scores in (one, other))
    scale = math.sqrt(float(first @ first) * float(second @ second))
    return max(-1.0, min(float(first @ second) / scale, 1.0)) if scale else None


def kendall(one: Floats, other: Floats, *, tell: Progress = unreported) -> float | None:
    """tau-b in n log n; None where all of a rank are equal.

    In the order of the one, of equals by the other, the pairs that the other has the wrong way
    round are discordant; those tied nowhere and not discordant are concordant.
    """
    first, second = _levels(one), _levels(other)
    both = first * len(one) + second
    pairs = len(one) * (len(one) - 1) // 2
    untied, other_untied = pairs - _ties(first), pairs - _ties(second)
    scale = math.sqrt(untied * other_untied)  # of whole numbers: a rank beside itself is at 1
    if not scale:
        return None
    untied_in_both = untied + other_untied - pairs + _ties(_levels(both))
    discordant = _inversions(second[np.argsort(both, kind="stable")], tell)
    return (untied_in_both - 2 * discordant) / scale


def _levels(values: NDArray[np.floating | np.int64]) -> Ints:
    """The values as whole numbers from 0 on, without a gap, in the same order."""
    levels: Ints = np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)
    return levels


def _ties(levels: Ints) -> int:
    """Pairs of equals."""
    counts = np.bincount(levels)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(levels: Ints, tell: Progress) -> int:
    """Pairs of which the greater comes first.

    The highest bit in which the two differ tells which is greater. So the levels are sorted bit by
    bit from the highest, in groups of those that are alike so far, and before each 0 the 1s of its
    group are counted.
    """
    less = np.concatenate(([0], np.cumsum(np.bincount(levels)))).astype(np.int32)  # than each
    rest, here = levels.astype(np.int32), np.arange(len(levels), dtype=np.int32)
    bits, found = int(levels.max()).bit_length(), 0
    for bit in reversed(range(bits)):
        high = rest >> bit
        is_one = (high & 1).astype(np.bool_)
        ones = np.cumsum(is_one, dtype=np.int32) - is_one
        ones -= ones[less[high >> 1 << (bit + 1)]]  # those before the group
        found += int(ones.sum(where=~is_one, dtype=np.int64))
        moved = np.empty_like(rest)
        moved[np.where(is_one, less[high << bit] + ones, here - ones)] = rest
        rest = moved
        tell(1 - bit / bits)
    return found


def _overlaps(scores: Floats, reference: Floats, ks: Sequence[int]) -> dict[int, float | None]:
    best, true_best = _in_order(scores), _in_order(reference)
    return {
        k: len(np.intersect1d(best[:k], true_best[:k])) / k if k <= len(best) else None for k in ks
    }


def _in_order(scores: Floats) -> Ints:
    """The nodes, the best first."""
    return np.argsort(-scores, kind="stable")


def _errors(scores: Floats, reference: Floats) -> tuple[RankErrors | None, RankErrors | None]:
    """Of all, and of the tenth that the reference says is best."""
    estimate, truth = shares(scores), shares(reference)
    order = _in_order(truth)[: np.count_nonzero(truth > _NOTHING)]
    errors = np.abs(estimate[order] - truth[order]) / truth[order]
    return _summary(errors), _summary(errors[: max(1, len(truth) // 10)])


def _summary(errors: Floats) -> RankErrors | None:
    return RankErrors(float(errors.mean()), float(np.median(errors))) if len(errors) else None


def _remarks(scores: Floats, reference: Floats, ks: Sequence[int]) -> Iterator[str]:
    nodes = len(scores)
    if nodes < _FEWEST:
        yield f"nodes with a score in both: {nodes}, which is no order"
    else:
        for name, values in (("first", scores), ("second", reference)):
            if (values == values[0]).all():
                yield f"all scores of the {name} are equal: it has no order"
    if any(k > nodes for k in ks):
        yield f"there is no overlap of more than {nodes:,} nodes"
    if zeros := np.count_nonzero(shares(reference) <= _NOTHING):
        yield f"nodes with a score of 0 in the second, and so in no error: {zeros:,}"


# ---------------------------------------------------------------- a rank and people

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
        remarks=tuple(_remarks_on_grades(scores, cut)),
    )


class JudgeAgreement(NamedTuple):
    """A judge beside the mean of all judges; shares of the nodes that the judge graded."""

    judged: int
    equal: float
    within_one: float
    spearman: float | None


def mean_grades(grades: Floats) -> Ints:
    """The grade of each node; `grades` has a row for it and a column for each judge, or NaN."""
    means: Ints = np.floor(np.nanmean(grades, axis=1) + 0.5).astype(np.int64)
    return means


def beside_mean(grades: Floats) -> list[JudgeAgreement | None]:
    """Each judge, or nothing for one who graded none of these nodes."""
    means = mean_grades(grades)
    return [_beside(judge, means) for judge in grades.T]


def _beside(judge: Floats, means: Ints) -> JudgeAgreement | None:
    has_graded = ~np.isnan(judge)
    if not has_graded.any():
        return None
    own, mean = judge[has_graded], means[has_graded].astype(np.float64)
    apart = np.abs(own - mean)
    return JudgeAgreement(
        judged=len(own),
        equal=float((apart == 0).mean()),
        within_one=float((apart <= 1).mean()),
        spearman=spearman(own, mean),
    )


def graded(scores: Floats, grades: Ints) -> Ints:
    """The grade of each score, the best getting most; of each there are as many as in `grades`."""
    cut = np.empty_like(grades)
    cut[np.argsort(-scores, kind="stable")] = -np.sort(-grades)
    return cut


def _upward(grades: Ints, best: int) -> Ints:
    """The more, the better; and the same backwards."""
    return grades if best == GRADES else GRADES + 1 - grades


def _remarks_on_grades(scores: Floats, cut: Ints) -> Iterator[str]:
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
