"""Flows of cash along given links."""

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.importance.cash_flow import CashFlow, FlowBuilder
from minicrawl.opic.ledger.books import Spending
from minicrawl.opic.ledger.money import fixed_edge

Floats = NDArray[np.float64]
EDGE = 0.125
"""A small edge that is exact in whole parts, so that ledger, matrix and oracle agree."""
Spendings = dict[int, Spending]


def flow_of(
    pages: int, spendings: Spendings, forwards: dict[int, int] | None = None, edge: float = EDGE
) -> CashFlow:
    builder = FlowBuilder(fixed_edge(edge))
    for page, target in (forwards or {}).items():
        builder.forward(page, target)
    for page, spending in spendings.items():
        builder.spend(page, spending)
    return builder.flow(pages)


MANY = [Spending(range(1100))] * 1000 + [Spending(())] * 200
"""A web of more than a million links: of 1,200 pages, 1,000 link to 1,100."""
