"""How far two ranks of the same nodes agree, and a rank with what people think.

n          nodes; n (n - 1) / 2 pairs of them, of which some are tied in one rank or in both
kendall    tau-b: (concordant - discordant) / sqrt(pairs untied in one * pairs untied in the other)
spearman   the correlation of the places; equals share the mean of theirs
overlap    the share of the best k of one that are among the best k of the other; of equals the
           first node comes first
error      |score - truth| / truth, both as shares: its mean over the nodes of which truth > 0, and
           over the tenth of all nodes that truth says is best

Law: a correlation is nan where all scores of a rank are equal, for then it orders nothing; an
error is nan where there is no truth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.estimate import shares

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One rank beside another, which is taken for the truth."""

    nodes: int
    kendall: float
    spearman: float
    overlap: dict[int, float]
    """By k, as far as there are more nodes than that."""
    error_all: float
    error_top10: float


def compare(scores: Floats, truth: Floats, ks: Sequence[int]) -> Comparison:
    """Both have a score of 0 or more for each node."""
    best, true_best = _in_order(scores), _in_order(truth)
    error = _relative_errors(scores, truth)
    return Comparison(
        nodes=len(truth),
        kendall=kendall(scores, truth),
        spearman=spearman(scores, truth),
        overlap={k: len(np.intersect1d(best[:k], true_best[:k])) / k for k in ks if k < len(truth)},
        error_all=_mean(error),
        error_top10=_mean(error[true_best[: max(1, len(truth) // 10)]]),
    )


def mean_of(runs: Sequence[Comparison]) -> Comparison:
    """Of each measure over all runs; they have the same number of nodes."""
    return Comparison(
        nodes=runs[0].nodes,
        kendall=fmean(run.kendall for run in runs),
        spearman=fmean(run.spearman for run in runs),
        overlap={k: fmean(run.overlap[k] for run in runs) for k in runs[0].overlap},
        error_all=fmean(run.error_all for run in runs),
        error_top10=fmean(run.error_top10 for run in runs),
    )


def kendall(one: Floats, other: Floats) -> float:
    """tau-b; what takes longest is to sort."""
    first, second = _levels(one), _levels(other)
    order = np.lexsort((second, first))
    pairs = len(one) * (len(one) - 1) // 2
    ties, other_ties = _tied(first), _tied(second)
    in_both = _tied(first * (len(one) + 1) + second)
    untied = pairs - ties - other_ties + in_both
    scale = math.sqrt((pairs - ties) * (pairs - other_ties))
    return (untied - 2 * _inversions(second[order])) / scale if scale else math.nan


def spearman(one: Floats, other: Floats) -> float:
    """The correlation of the places."""
    first, second = (places(scores) - (len(scores) + 1) / 2 for scores in (one, other))
    scale = math.sqrt(float((first**2).sum()) * float((second**2).sum()))
    return float((first * second).sum()) / scale if scale else math.nan


def places(scores: Floats) -> Floats:
    """The place of each score, the least being 1; equals share the mean of their places."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middle[inverse]


def _in_order(scores: Floats) -> Ints:
    return np.argsort(-scores, kind="stable")


def _levels(scores: Floats) -> Ints:
    """The scores as whole numbers in the same order."""
    return np.unique(scores, return_inverse=True)[1].astype(np.int64, copy=False)


def _tied(levels: Ints) -> int:
    """Pairs of equals."""
    counts = np.unique(levels, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(levels: Ints) -> int:
    """Pairs of which the greater comes first: a merge sort that counts, all blocks at a time."""
    width, most = 1, len(levels)
    blocks = np.full(1 << max(most - 1, 0).bit_length(), most, dtype=np.int64)
    blocks[:most] = levels
    found = 0
    while width < len(blocks):
        pairs = blocks.reshape(-1, 2 * width)
        apart = (np.arange(len(pairs)) * (most + 1))[:, np.newaxis]
        left, right = pairs[:, :width] + apart, pairs[:, width:] + apart
        # What is not greater, of the own block and of all blocks before it.
        lesser = np.searchsorted(left.ravel(), right.ravel(), side="right")
        found += width * width * len(pairs) * (len(pairs) + 1) // 2 - int(lesser.sum())
        pairs.sort(axis=1, kind="stable")
        width *= 2
    return found


def _relative_errors(scores: Floats, truth: Floats) -> Floats:
    """nan where the truth is 0."""
    estimate, true = shares(scores), shares(truth)
    errors = np.full(len(true), np.nan)
    np.divide(np.abs(estimate - true), true, out=errors, where=true > 0)
    return errors


def _mean(errors: Floats) -> float:
    known = errors[~np.isnan(errors)]
    return float(known.mean()) if len(known) else math.nan


# ---------------------------------------------------------------- what people think


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A rank beside grades that people gave; shares of all that was graded."""

    judged: int
    equal: float
    within_one: float
    by_chance: float
    """What would be equal if the same grades were dealt blindly."""
    spearman: float


def agreement(scores: Floats, grades: Ints) -> Agreement:
    """`grades[i]` is what somebody gave to the node of `scores[i]`; the more, the better."""
    apart = np.abs(graded(scores, grades) - grades)
    dealt = np.unique(grades, return_counts=True)[1] / len(grades)
    return Agreement(
        judged=len(grades),
        equal=float((apart == 0).mean()),
        within_one=float((apart <= 1).mean()),
        by_chance=float((dealt**2).sum()),
        spearman=spearman(scores, grades.astype(np.float64)),
    )


def graded(scores: Floats, grades: Ints) -> Ints:
    """The scores cut into grades, as many of each as people gave: the best get the best.

    So a rank is judged by its order alone, not by how strictly people grade. Equals get the same,
    that of the lower middle of their places.
    """
    middle = np.floor(places(scores)).astype(np.int64) - 1
    return np.sort(grades)[middle]
