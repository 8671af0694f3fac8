"""How many links pages have: how many pages have so many, and the power law that fits.

Laws: every page is in one bin, so the bins add up to the pages. A bin of up to 19 links is one
number, up to 139 it is twenty numbers wide, and from there each bin is twice as wide as the one
before: the distribution takes as much room for a web as for a village.

The exponent is that of pages with at least `TAIL` links, by maximum likelihood: with n pages whose
degrees are k, 1 + n / sum(ln(k / (TAIL - 1/2))), and its standard error (exponent - 1) / sqrt(n)
(Clauset, Shalizi and Newman, "Power-law distributions in empirical data", 2009, equations 3.7 and
3.2). The approximation is good from six links on.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

TAIL = 6
"""Links; pages with fewer follow no power law."""
FEWEST_PAGES = 50
"""With fewer pages in the tail, an exponent means nothing."""
RANGE = 20
_RANGES = 8
_LAST_RANGE = RANGE * (_RANGES - 1)
_BIN_STARTS = np.array(
    [*range(RANGE), *range(RANGE, _LAST_RANGE, RANGE), *(_LAST_RANGE << n for n in range(25))]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DegreeDistribution:
    """`bins` has the least number of links of each bin that has pages, and how many these are."""

    bins: tuple[tuple[int, int], ...]
    most: int
    exponent: float | None
    exponent_error: float | None

    def ranges(self) -> Iterator[tuple[str, int]]:
        """Pages with 0-19 links, with 20-39 and so on, and with 140 and more."""
        counts = [0] * _RANGES
        for least, pages in self.bins:
            counts[min(least // RANGE, _RANGES - 1)] += pages
        for number, pages in enumerate(counts):
            least = number * RANGE
            yield f"{least}+" if least == _LAST_RANGE else f"{least}-{least + RANGE - 1}", pages

    def density(self) -> Iterator[tuple[float, float]]:
        """Links, and the pages with exactly so many, on average over a bin: points to draw.

        Pages without links have no place on a logarithmic scale.
        """
        widths = dict(pairwise(_BIN_STARTS.tolist()))
        for least, pages in self.bins:
            if least:
                end = widths.get(least, 2 * least)
                yield math.sqrt(least * (end - 1)), pages / (end - least)


def distribution(degrees: NDArray[np.int64]) -> DegreeDistribution:
    """Of the numbers of links of all pages."""
    places = np.searchsorted(_BIN_STARTS, degrees, side="right") - 1
    counts = np.bincount(places, minlength=len(_BIN_STARTS))
    exponent, error = _fitted(degrees[degrees >= TAIL])
    return DegreeDistribution(
        bins=tuple(
            (int(_BIN_STARTS[place]), int(counts[place])) for place in np.flatnonzero(counts)
        ),
        most=int(degrees.max(initial=0)),
        exponent=exponent,
        exponent_error=error,
    )


def _fitted(tail: NDArray[np.int64]) -> tuple[float | None, float | None]:
    """The exponent and its standard error."""
    if len(tail) < FEWEST_PAGES:
        return None, None
    exponent = 1 + len(tail) / float(np.log(tail / (TAIL - 0.5)).sum())
    return exponent, (exponent - 1) / math.sqrt(len(tail))
