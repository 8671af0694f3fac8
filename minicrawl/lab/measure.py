"""How far an estimate of importance is from the truth, in percent.

Both are shares of the whole. The relative error of a page is |estimate - truth| / truth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.estimate import shares
from minicrawl.ranks.compare import places

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateErrors:
    """`all`: mean relative error of all pages. `top10`: of the tenth that is most important.

    `weighted`: the mean weighted by importance, which is the mass that sits on wrong pages, twice.
    `rank`: how far a page is from its place in the ranking on average, in percent of the pages.
    `deviation`: the standard deviation of the relative errors, in percent as they are.
    `above_twice`: the share of the pages whose error is more than twice the mean, in percent.
    """

    all: float
    top10: float
    weighted: float
    rank: float
    deviation: float
    above_twice: float


def errors(estimate: Floats, truth: Floats) -> EstimateErrors:
    """Of an estimate of all pages against the truth; neither need be normalised."""
    estimate, truth = shares(estimate), shares(truth)
    relative = np.abs(estimate - truth) / truth
    top = np.argsort(-truth, kind="stable")[: max(1, len(truth) // 10)]
    return EstimateErrors(
        all=100 * float(relative.mean()),
        top10=100 * float(relative[top].mean()),
        weighted=100 * float((relative * truth).sum()),
        rank=100 * float(np.abs(places(estimate) - places(truth)).mean()) / len(truth),
        deviation=100 * float(relative.std()),
        above_twice=100 * float((relative > 2 * relative.mean()).mean()),
    )


def mean(found: Sequence[EstimateErrors]) -> EstimateErrors:
    """Of several moments."""
    names = [field.name for field in fields(EstimateErrors)]
    return EstimateErrors(
        **{name: sum(getattr(one, name) for one in found) / len(found) for name in names}
    )
