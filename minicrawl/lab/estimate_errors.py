"""Errors of an estimate of importance, in percent.

Estimate and truth are normalised. The relative error of a page is |estimate - truth| / truth.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from minicrawl.lab.webs import Floats
from minicrawl.opic.importance.estimate import shares
from minicrawl.ranks.agreement import places


@dataclass(frozen=True, slots=True)
class EstimateErrors:
    """Errors of an estimate, in percent.

    `all`: mean relative error of all pages. `top10`: of the most important tenth of the pages.
    `weighted`: mean weighted by importance, which is twice the mass on wrong pages. `rank`: mean
    distance of a page from its true place, in percent of the pages. `deviation`: standard deviation
    of the relative errors. `above_twice`: share of the pages with an error above twice the mean.
    """

    all: float
    top10: float
    weighted: float
    rank: float
    deviation: float
    above_twice: float

    def to_json(self) -> dict[str, float]:
        return {
            "error_all": self.all,
            "error_top10": self.top10,
            "error_weighted": self.weighted,
            "rank_error": self.rank,
            "deviation": self.deviation,
            "above_twice": self.above_twice,
        }


def errors(estimate: Floats, truth: Floats) -> EstimateErrors:
    """Return the errors of an estimate; neither argument need be normalised."""
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


def mean(draws: Sequence[EstimateErrors]) -> EstimateErrors:
    """Return the mean of errors measured at several moments, or in several draws."""
    return EstimateErrors(*np.mean([astuple(draw) for draw in draws], axis=0).tolist())


def standard_error(draws: Sequence[EstimateErrors]) -> EstimateErrors:
    """Return the standard errors of the mean over two draws or more."""
    deviations = np.std([astuple(draw) for draw in draws], axis=0, ddof=1)
    return EstimateErrors(*(deviations / len(draws) ** 0.5).tolist())
