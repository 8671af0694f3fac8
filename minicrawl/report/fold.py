"""The books made anew from the first step to the last, and held against those that were loaded.

Law: a checkpoint only saves time. What it says of a page is what the steps say, to the atom.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.pages import Frontier
from minicrawl.report.snapshot import inlinks, spent
from minicrawl.store import tables
from minicrawl.store.trouble import NONSENSE

Tell = Callable[[float], None]

_STEPS_AT_ONCE = 1000  # before anybody is told


def differences(
    connection: tables.Connection, loaded: Frontier, tell: Tell = lambda _share: None
) -> Iterator[str]:
    """A line for each page and each total that the steps tell otherwise."""
    made, last = Frontier(loaded.terms, partial(tables.spending, connection)), loaded.last_seq
    try:
        for row in tables.steps_after(connection, 0):
            made.apply(row)
            if not row.seq % _STEPS_AT_ONCE:
                tell(min(row.seq / max(last, 1), 1.0))
    except NONSENSE as error:
        yield f"step {made.last_seq} cannot be done: {error}"
        return
    yield from _of_pages(loaded, made)
    for name, one, other in (
        ("inlinks", inlinks(connection, loaded), made.gained()),
        ("spent", spent(connection, loaded), made.spent.of_all(len(made))),
    ):
        yield from _of_column(name, one, other)
    if loaded.ledger.totals != made.ledger.totals:
        yield f"the totals are {loaded.ledger.totals}, by the steps {made.ledger.totals}"
    if loaded.books.forwards != made.books.forwards:
        yield "pages stand for others than the steps say"


def _of_pages(loaded: Frontier, made: Frontier) -> Iterator[str]:
    for (name, one), (_, other) in zip(_columns(loaded), _columns(made), strict=True):
        yield from _of_column(name, one, other)
    for page in range(len(loaded)):
        if loaded.window.past(page) != made.window.past(page):
            yield f"page {page} has another history than the steps say"


def _of_column(name: str, loaded: NDArray[Any], made: NDArray[Any]) -> Iterator[str]:
    for page in np.flatnonzero(loaded != made).tolist():
        yield f"page {page} has {name} {loaded[page]}, by the steps {made[page]}"


def _columns(frontier: Frontier) -> Iterator[tuple[str, NDArray[np.int64]]]:
    yield "state", np.array(frontier.state, dtype=np.int64)
    yield "key", np.array(frontier.ledger.key, dtype=np.int64)
