"""The importance as it is shown: converged ranks, carried on by what came after them.

Laws: where no converged ranks lie beside the store, it is the estimate of the crawl. Ranks that
know all steps are shown as they are. What came later is worked in by one pass over the later turns,
in their order: a page that was read hands what flows through it to its links, as it would in a lap
of `opic.refine`. If that would take too long, only pages that were found later are estimated.

In a lap an amount of 1 flows from the virtual page to each page; so that is the least that flows
through it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.pages import Frontier
from minicrawl.opic.estimate import completed, shares
from minicrawl.opic.journal import Spending, StepKind
from minicrawl.store import questions
from minicrawl.store.blobs import unpack
from minicrawl.store.derived import OPIC, RankRow, flowed, rank_row, rank_scores, reading_beside
from minicrawl.store.tables import Connection

MOST_STEPS = 20_000
"""So many later steps are worked in, in about a third of a second."""

Floats = NDArray[np.float64]


class ShownImportance(NamedTuple):
    """The shares of all pages, which sum to 1."""

    row: RankRow | None
    """The converged ranks that they come from, if there are any."""
    shares: Floats


def shown_importance(path: Path, connection: Connection, frontier: Frontier) -> ShownImportance:
    """The importance of all pages of the store at `path`, of which this is the frontier."""
    with reading_beside(path, connection) as derived:
        row = rank_row(derived, OPIC)
        if derived is None or row is None:
            return ShownImportance(None, frontier.importance())
        scores = rank_scores(derived, OPIC, len(frontier))
    later = frontier.last_seq - row.step
    if later <= 0:
        return ShownImportance(row, shares(scores))
    flow = flowed(row)
    if later > MOST_STEPS or flow is None:
        return ShownImportance(row, completed(scores, frontier.importance()))
    flows = np.nan_to_num(scores * (flow * row.nodes), nan=1.0)
    _carry_on(flows, connection, frontier, row)
    return ShownImportance(row, shares(flows))


def _carry_on(flows: Floats, connection: Connection, frontier: Frontier, row: RankRow) -> None:
    books, kept = frontier.books, 1 - frontier.terms.small_edge
    for kind, page, spending in _turns(connection, row.step):
        if kind == StepKind.FORWARD:
            flows[books.stands_for(page)] += flows[page]
            flows[page] = 1
        elif page not in books.forwards:
            links, weights, _, idle = books.without_detours(page, spending)
            if links:
                parts = np.array(weights or [1] * len(links))
                flows[links] += flows[page] * kept * parts / max(parts.sum() + idle, 1)


def _turns(connection: Connection, after: int) -> Iterator[tuple[int, int, Spending]]:
    """The later turns with links, but for pages that were read before.

    Of these the ranks know links already, and in most cases the same.
    """
    for block in questions.spendings(connection, after):
        documents = questions.documents(connection, block.pages.tolist())
        again = {document.page for document in documents if document.checks}
        for kind, page, blob in zip(
            block.kinds.tolist(), block.pages.tolist(), block.blobs, strict=True
        ):
            if page not in again:
                yield kind, page, unpack(blob)
