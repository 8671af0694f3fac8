"""Formulas from history and cash to importance: a page's share of all cash that ever flowed.

H   cash that the page has spent      C   cash that it holds      C0  its initial cash
G   sum of H over all pages           M   cash minted
All in units. Estimates are correct up to a common factor; `shares` removes it.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def growing(history: Floats, cash: Floats, recorded: float, minted: float) -> Floats:
    """Return (H + C) / (G + M): valid for unread pages too, while pages are still being found.

    The estimates of all pages and the virtual page's own share sum to 1. The paper's
    (H + C) / (G + 1) is this formula with all cash as the unit.
    """
    return (history + cash) / (recorded + minted)


def minus_birth(history: Floats, cash: Floats, recorded: float, birth: float = 1.0) -> Floats:
    """Return (H + C - C0) / G: for a fixed set of pages, each with `birth` as its initial cash.

    The initial cash says nothing about a page. Without it the estimate is what the page's links
    gave it out of G, one power step on H: the error is 3 to 10 times smaller.
    """
    return (history + cash - birth) / recorded


def interpolated(
    history: Floats, cash: Floats, away: Floats, width: float, change: float = 1.0
) -> Floats:
    """Return the flow of the last T: (1 - w) H + w (H (1 - d / T) + C) if d < T, else w C T / d.

    `change` is w. With 0 the flow has stayed the same since the last reading; with 1 only the cash
    counts for the time since then.
    """
    is_within = away < width
    until_now = history * (1 - np.where(is_within, away, 0) / width) + cash
    long_ago = cash * (width / np.where(is_within, width, away) if np.isfinite(width) else 1)
    return (1 - change) * history + change * np.where(is_within, until_now, long_ago)


def rising(cash: Floats, flow: Floats, away: NDArray[np.int64]) -> Floats:
    """Return the ratio of the cash a page received since it was read to what its past predicts.

    One unit added to numerator and denominator keeps little-known pages near 1. Predictions are
    scaled to the cash that all pages received together, so 1 means no change in any unit of flow.
    NaN for pages without a past, and for all pages while the predictions sum to 0.
    """
    promised = flow * away
    told = np.isfinite(promised)
    total = promised[told].sum()
    scale = cash[told].sum() / total if total > 0 else np.nan
    found: Floats = (cash + 1) / (promised * scale + 1)
    return found


def completed(converged: Floats, estimated: Floats) -> Floats:
    """Return converged shares, with estimated shares in place of NaN (pages found later).

    Those pages keep their estimated share of the whole; the other pages share the rest.
    """
    is_later = np.isnan(converged)
    rest = 1 - float(estimated[is_later].sum())
    return np.where(is_later, estimated, converged * (rest / converged[~is_later].sum()))


def shares(estimate: Floats) -> Floats:
    """Return the estimate normalised to sum 1; equal shares if it is all 0."""
    total = estimate.sum()
    return estimate / total if total > 0 else np.full(len(estimate), 1 / max(len(estimate), 1))
