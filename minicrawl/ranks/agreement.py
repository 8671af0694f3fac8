"""Agreement of two ranks of the same nodes.

n           number of nodes with a score in both; nodes with NaN in either are left out. They form
            n (n - 1) / 2 pairs, some tied in one rank or in both
kendall     tau-b: (concordant - discordant) / sqrt(untied in one * untied in the other)
spearman    correlation of the places; ties share the mean of their places
overlap     share of the best k nodes that both have in common; ties go to the first node
error       |score - reference| / reference, both as shares of the n nodes; mean and median over
            the nodes with a reference above 0, and over the best tenth by the reference. A few
            nodes with a tiny reference can dominate the mean, but not the median

Results never contain NaN; a value that does not exist is None, and a remark says why.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.products import Vector
from minicrawl.opic.importance.estimate import shares
from minicrawl.ports import Progress, unreported

Ints = NDArray[np.int64]

_FEWEST = 2
_NOTHING = 1e-100
"""Smaller shares are rounding: an error relative to them says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    nodes: int
    left_out: int
    kendall_tau: float | None
    spearman: float | None
    overlap: dict[int, float | None]
    """Overlap for each k; None if there are fewer than k nodes."""
    mean_relative_error: dict[str, float | None]
    """Of `all` nodes, and of the best tenth by the reference, `top10`; None without nodes."""
    median_relative_error: dict[str, float | None]
    remarks: tuple[str, ...]


def compare(
    scores: NDArray[np.floating],
    reference: NDArray[np.floating],
    ks: Sequence[int],
    *,
    tell: Progress = unreported,
) -> Comparison:
    """Compare two ranks of the same nodes, with scores of 0 or more, or NaN."""
    in_both = ~(np.isnan(scores) | np.isnan(reference))
    first, second = (values[in_both].astype(np.float64) for values in (scores, reference))
    estimate, truth = shares(first), shares(second)
    order = _in_order(truth)[: np.count_nonzero(truth > _NOTHING)]
    relative = np.abs(estimate[order] - truth[order]) / truth[order]
    groups = {"all": relative, "top10": relative[: max(1, len(truth) // 10)]}
    best, true_best = _in_order(first), _in_order(second)
    return Comparison(
        nodes=len(first),
        left_out=len(in_both) - len(first),
        kendall_tau=kendall(first, second, tell=tell),
        spearman=spearman(first, second),
        overlap={
            k: len(np.intersect1d(best[:k], true_best[:k])) / k if k <= len(best) else None
            for k in ks
        },
        mean_relative_error={
            name: float(group.mean()) if len(group) else None for name, group in groups.items()
        },
        median_relative_error={
            name: float(np.median(group)) if len(group) else None for name, group in groups.items()
        },
        remarks=tuple(_remarks(first, second, ks)),
    )


def places(scores: Vector) -> Vector:
    """Return the place of each score, the least being 1; ties share the mean of their places."""
    _, levels, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle: Vector = np.cumsum(counts) - (counts - 1) / 2
    return middle[levels]


def spearman(first_scores: Vector, second_scores: Vector) -> float | None:
    """Return the correlation of the places; None if all scores of a rank are equal."""
    first, second = (
        places(scores) - (len(scores) + 1) / 2 for scores in (first_scores, second_scores)
    )
    scale = sqrt(float(first @ first) * float(second @ second))
    return max(-1.0, min(float(first @ second) / scale, 1.0)) if scale else None


def kendall(
    first_scores: Vector, second_scores: Vector, *, tell: Progress = unreported
) -> float | None:
    """Return tau-b in n log n time; None if all scores of a rank are equal.

    Nodes are sorted by the first rank, ties by the second. Pairs that are then inverted in the
    second rank are discordant; other pairs without ties are concordant.
    """
    first, second = _levels(first_scores), _levels(second_scores)
    both = first * len(first_scores) + second
    pairs = len(first_scores) * (len(first_scores) - 1) // 2
    untied, other_untied = pairs - _ties(first), pairs - _ties(second)
    scale = sqrt(untied * other_untied)  # integers: equal ranks give exactly 1
    if not scale:
        return None
    untied_in_both = untied + other_untied - pairs + _ties(_levels(both))
    discordant = _inversions(second[np.argsort(both, kind="stable")], tell)
    return (untied_in_both - 2 * discordant) / scale


def _levels(values: NDArray[np.floating | np.int64]) -> Ints:
    """Return the values as consecutive integers from 0, in the same order."""
    levels: Ints = np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)
    return levels


def _ties(levels: Ints) -> int:
    counts = np.bincount(levels)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(levels: Ints, tell: Progress) -> int:
    """Return the number of pairs whose greater member comes first.

    The highest bit in which two numbers differ decides which is greater. So the levels are sorted
    bit by bit from the highest, in groups that agree so far, and for each 0 the 1s before it in its
    group are counted.
    """
    less = np.concatenate(([0], np.cumsum(np.bincount(levels)))).astype(np.int32)  # than each
    remaining, here = levels.astype(np.int32), np.arange(len(levels), dtype=np.int32)
    bits, inversions = int(levels.max()).bit_length(), 0
    for bit in reversed(range(bits)):
        high = remaining >> bit
        is_one = (high & 1).astype(np.bool_)
        ones = np.cumsum(is_one, dtype=np.int32) - is_one
        ones -= ones[less[high >> 1 << (bit + 1)]]  # without the 1s before the group
        inversions += int(ones.sum(where=~is_one, dtype=np.int64))
        moved = np.empty_like(remaining)
        moved[np.where(is_one, less[high << bit] + ones, here - ones)] = remaining
        remaining = moved
        tell(1 - bit / bits)
    return inversions


def _in_order(scores: Vector) -> Ints:
    return np.argsort(-scores, kind="stable")


def _remarks(scores: Vector, reference: Vector, ks: Sequence[int]) -> Iterator[str]:
    nodes = len(scores)
    if nodes < _FEWEST:
        yield f"nodes with a score in both: {nodes}, too few for an order"
    else:
        for name, values in (("first", scores), ("second", reference)):
            if (values == values[0]).all():
                yield f"all scores of the {name} are equal: it has no order"
    if any(k > nodes for k in ks):
        yield f"there is no overlap of more than {nodes:,} nodes"
    if zeros := np.count_nonzero(shares(reference) <= _NOTHING):
        yield f"nodes with a score of 0 in the second, and so in no error: {zeros:,}"
