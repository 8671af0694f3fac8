"""The replay of a store: what its steps say, beside what it has.

Law: the same steps in the same order make the same frontier and the same ledger, to the atom. The
log of a store that was gathered from shards has the turns of pages and not what moved their cash.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.pages import Frontier
from minicrawl.progress import Progress
from minicrawl.report.snapshot import inlinks, last_spent
from minicrawl.store import tables
from minicrawl.store.trouble import NONSENSE

_STEPS_PER_REPORT = 1000  # of progress


def differences(
    connection: tables.Connection,
    loaded: Frontier,
    tell: Progress = lambda _share: None,
    *,
    has_cash: bool = True,
) -> Iterator[str]:
    """A line for each page and total that differs between the store and its steps. The steps of a
    store that was gathered say nothing of cash.
    """
    replayed, last = Frontier(loaded.terms, partial(tables.spending, connection)), loaded.last_seq
    try:
        for row in tables.steps_after(connection, 0):
            replayed.apply(row)
            if not row.seq % _STEPS_PER_REPORT:
                tell(min(row.seq / max(last, 1), 1.0))
    except NONSENSE as error:
        yield f"step {replayed.last_seq} cannot be replayed: {error}"
        return
    states = (np.array(one.state, dtype=np.int64) for one in (loaded, replayed))
    yield from _column_differences("state", *states)
    if has_cash:
        yield from _cash_differences(loaded, replayed)
    for name, one, other in (
        ("inlinks", inlinks(connection, loaded), replayed.gained()),
        ("spent", last_spent(connection, loaded), replayed.spendings.of_all(len(replayed))),
    ):
        yield from _column_differences(name, one, other)
    if loaded.books.forwards != replayed.books.forwards:
        yield "pages stand for other pages than by the steps"
    if _channels(loaded) != _channels(replayed):
        yield f"batches were {_channels(loaded)}, but {_channels(replayed)} by the steps"


def _cash_differences(loaded: Frontier, replayed: Frontier) -> Iterator[str]:
    keys = (np.array(one.ledger.key, dtype=np.int64) for one in (loaded, replayed))
    yield from _column_differences("key", *keys)
    for page in range(len(loaded)):
        if loaded.window.past(page) != replayed.window.past(page):
            yield f"page {page} has another history than by the steps"
    if loaded.ledger.totals != replayed.ledger.totals:
        yield f"the totals are {loaded.ledger.totals}, but {replayed.ledger.totals} by the steps"


def _column_differences(name: str, loaded: NDArray[Any], replayed: NDArray[Any]) -> Iterator[str]:
    for page in np.flatnonzero(loaded != replayed).tolist():
        yield f"page {page} has {name} {loaded[page]}, but {replayed[page]} by the steps"


def _channels(frontier: Frontier) -> list[tuple[object, ...]]:
    """What was sent to other shards and received from them, and what was never sent."""
    rows = {} if frontier.channels is None else frontier.channels.as_rows()
    return [(name, *end) for name, ends in rows.items() for end in ends]
