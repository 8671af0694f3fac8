"""From history and cash to importance: a page's share of all the cash that ever flowed.

H   cash that the page handed on      C   cash that it holds      C0  what it was born with
G   all H together                    M   all that was minted
All in units. What comes out is right up to a factor; `shares` takes the factor out.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def growing(history: Floats, cash: Floats, recorded: float, minted: float) -> Floats:
    """(H + C) / (G + M): right while pages are still being found, for the unread as well.

    Sums to 1 over all pages but for what the virtual page holds. The paper's (H + C) / (G + 1) is
    the same, there all cash together being the unit.
    """
    return (history + cash) / (recorded + minted)


def minus_birth(history: Floats, cash: Floats, recorded: float, birth: float = 1.0) -> Floats:
    """(H + C - C0) / G: for a set of pages that does not change, each born with `birth`.

    What a page was born with says nothing about it. What is left is what its links gave it of G,
    one power step on H: the error is 3 to 10 times smaller.
    """
    return (history + cash - birth) / recorded


def interpolated(
    history: Floats, cash: Floats, away: Floats, width: float, change: float = 1.0
) -> Floats:
    """What flowed in the last T: (1 - w) H + w (H (1 - d / T) + C) if d < T, else C T / d.

    `change` is w: at 0 the page goes on as before its last reading, at 1 only its cash counts for
    the time since.
    """
    is_within = away < width
    until_now = history * (1 - np.where(is_within, away, 0) / width) + cash
    long_ago = cash * (width / np.where(is_within, width, away) if np.isfinite(width) else 1)
    return (1 - change) * history + change * np.where(is_within, until_now, long_ago)


def rising(cash: Floats, flow: Floats, away: NDArray[np.int64]) -> Floats:
    """How many times as much as its past promised a page was given since it was read.

    A unit more on both sides keeps a page of which little is known near 1. What is promised to all
    pages together is what all were given: so 1 is as before, whatever the unit of the flow. NaN for
    a page without a past, and for all while nothing was promised yet.
    """
    promised = flow * away
    told = np.isfinite(promised)
    total = promised[told].sum()
    scale = cash[told].sum() / total if total > 0 else np.nan
    found: Floats = (cash + 1) / (promised * scale + 1)
    return found


def completed(converged: Floats, estimated: Floats) -> Floats:
    """Converged shares, and estimated ones where they are NaN: for pages that were found later.

    Such pages keep their estimated share of the whole; the others share the rest.
    """
    is_later = np.isnan(converged)
    rest = 1 - float(estimated[is_later].sum())
    return np.where(is_later, estimated, converged * (rest / converged[~is_later].sum()))


def shares(estimate: Floats) -> Floats:
    """The estimate as a share of the whole; the same for all where nothing is known."""
    total = estimate.sum()
    return estimate / total if total > 0 else np.full(len(estimate), 1 / max(len(estimate), 1))
