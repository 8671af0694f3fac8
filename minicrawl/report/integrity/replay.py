"""Replay of a store: compares its contents with its steps.

Law: the same steps in the same order give the same frontier and the same ledger, to the atom. In
a store that was gathered from shards, the log has the turns of pages but not what moved their
cash.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.page_table import Frontier
from minicrawl.ports import Progress
from minicrawl.report.snapshot import inlinks, last_spent
from minicrawl.store import tables
from minicrawl.store.trouble import NONSENSE

_STEPS_PER_REPORT = 1000  # steps between progress reports


def differences(
    connection: tables.Connection,
    loaded: Frontier,
    progress: Progress = lambda _share: None,
    *,
    has_cash: bool = True,
) -> Iterator[str]:
    """Yield a line for each page and total that differs between the store and its steps.

    Pass `has_cash=False` for a gathered store, whose steps say nothing about cash.
    """
    # The replay applies the steps with the code of the crawl. A second implementation would be more
    # independent, but would have to repeat each rule of the ledger, to the atom; and the audit is
    # meant to find damaged stores, not wrong rules.
    replayed, last = Frontier(loaded.terms, partial(tables.spending, connection)), loaded.last_seq
    try:
        for row in tables.steps_after(connection, 0):
            replayed.apply(row)
            if not row.seq % _STEPS_PER_REPORT:
                progress(min(row.seq / max(last, 1), 1.0))
    except NONSENSE as error:
        yield f"step {replayed.last_seq} cannot be replayed: {error}"
        return
    states = (np.array(stored.state, dtype=np.int64) for stored in (loaded, replayed))
    yield from _column_differences("state", *states)
    if has_cash:
        yield from _cash_differences(loaded, replayed)
    for name, stored, other in (
        ("inlinks", inlinks(connection, loaded), replayed.gained()),
        ("spent", last_spent(connection, loaded), replayed.spendings.of_all(len(replayed))),
    ):
        yield from _column_differences(name, stored, other)
    if loaded.books.forwards != replayed.books.forwards:
        yield "pages stand for other pages than the steps say"
    if _channels(loaded) != _channels(replayed):
        yield f"batches were {_channels(loaded)}, but {_channels(replayed)} by the steps"


def _cash_differences(loaded: Frontier, replayed: Frontier) -> Iterator[str]:
    keys = (np.array(frontier.ledger.key, dtype=np.int64) for frontier in (loaded, replayed))
    yield from _column_differences("key", *keys)
    for page in range(len(loaded)):
        if loaded.window.past(page) != replayed.window.past(page):
            yield f"page {page} has another history than the steps say"
    if loaded.ledger.totals != replayed.ledger.totals:
        yield f"the totals are {loaded.ledger.totals}, but {replayed.ledger.totals} by the steps"


def _column_differences(name: str, loaded: NDArray[Any], replayed: NDArray[Any]) -> Iterator[str]:
    for page in np.flatnonzero(loaded != replayed).tolist():
        yield f"page {page} has {name} {loaded[page]}, but {replayed[page]} by the steps"


def _channels(frontier: Frontier) -> list[tuple[object, ...]]:
    """Return the state of the channels to other shards, as sortable rows."""
    rows = {} if frontier.channels is None else frontier.channels.as_rows()
    return [(name, *end) for name, ends in rows.items() for end in ends]
