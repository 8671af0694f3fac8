"""A frontier is loaded: the last checkpoint, and the steps behind it. Does it fit together?

Law: a file of which parts are older than others may be a sound database and no sound store. Each
commit tells how much there is of all; a crawl or a report that opens a store compares
that first. After a crawl that was cut off, tables that no commit counts are compared as well.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np

from minicrawl.frontier.pages import Frontier
from minicrawl.frontier.url_index import UrlsOf
from minicrawl.frontier.urls import no_urls
from minicrawl.model import READ_STATES, STANDS_FOR_ANOTHER, State
from minicrawl.opic.journal import Spending
from minicrawl.opic.ledger import FOREIGN
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows.window import Numbers
from minicrawl.store import columns, fetches, questions, tables
from minicrawl.store.records import StoreTerms

_SAVED: tuple[columns.Column, ...] = ("state", "key", "history", "g_time")


def load_frontier(
    connection: tables.Connection,
    terms: StoreTerms,
    spending_at: Callable[[int], Spending],
    urls_of: UrlsOf | None = None,
    saved_step: Callable[[int], int] | None = None,
    *,
    siblings: bool = False,
) -> Frontier:
    """The last checkpoint and the steps behind it. Without `urls_of` no URLs are loaded.

    With `siblings`, what they have shown is loaded as well.

    A caller that goes on using the connection in another thread gives its own `saved_step`.
    """
    saved_step = saved_step or partial(tables.spent_by, connection)
    frontier = Frontier(terms, spending_at, urls_of or no_urls, saved_step)
    if urls_of is not None:
        frontier.urls.load(connection)
    _load_checkpoint(frontier, connection)
    if siblings:
        _load_siblings(frontier, connection, spending_at)
    _check_births(frontier, connection)
    for row in tables.steps_after(connection, frontier.last_seq):
        frontier.apply(row)
    return frontier


def _load_checkpoint(frontier: Frontier, connection: tables.Connection) -> None:
    saved, key = tables.saved(connection), array("q")

    def pasts() -> Iterator[tuple[Numbers, Numbers]]:
        """The other columns are taken from the same rows on the way."""
        for states, keys, history, times in columns.frontier(connection, *_SAVED):
            frontier.state += states.tobytes()
            frontier.counts.update(dict(enumerate(np.bincount(states).tolist())))
            key.frombytes(keys.tobytes())
            yield history, times

    frontier.window.restore(pasts(), tables.measures(connection))
    frontier.ledger.restore(key, _flags(frontier), saved.totals)
    if (ends := tables.channels(connection)) is not None:
        from minicrawl.shards.channels import Channels  # most crawls have one shard

        frontier.channels = Channels.from_rows(ends)
    frontier.take_changes()  # none: all pages so far have a row
    frontier.spendings.cut(len(frontier))
    frontier.last_seq = saved.watermark
    steps = tables.endowed(tables.counters(connection))
    for links, units in tables.endowments(connection, [s for s in steps if s <= saved.watermark]):
        for seed in links:
            endowed = frontier.ledger.endowed
            endowed[seed] = endowed.get(seed, 0) + units * UNIT // len(links)
    for pages in frontier.in_state(*STANDS_FOR_ANOTHER):
        spendings = tables.spendings_of(connection, pages.tolist())
        targets = [spending.links[0] for spending in spendings]
        frontier.books.forwards.update(zip(pages.tolist(), targets, strict=True))


def _flags(frontier: Frontier) -> bytearray:
    states = frontier.states()
    flags = (states != State.UNREAD).view(np.uint8)
    if frontier.counts[State.FOREIGN]:
        flags[states == State.FOREIGN] = FOREIGN
    return bytearray(flags)


def _load_siblings(
    frontier: Frontier, connection: tables.Connection, spending_at: Callable[[int], Spending]
) -> None:
    from minicrawl.frontier.sibling_steps import SiblingSteps  # few reports need it

    if not frontier.urls.origins:
        frontier.urls.load_hosts(connection)
    frontier.siblings = SiblingSteps(frontier.ledger, frontier.urls)
    if state := tables.siblings(connection):
        frontier.siblings.load(state, len(frontier))
    elif len(frontier):
        counts = tables.counters(connection)
        steps = [seq for seq in tables.endowed(counts) if seq <= frontier.last_seq]
        seeds = sorted(chain.from_iterable(spending_at(seq).links for seq in steps))
        targets = map(frontier.books.stands_for, seeds)
        frontier.siblings.begin(len(frontier), [*dict.fromkeys((*seeds, *targets))])


def _check_births(frontier: Frontier, connection: tables.Connection) -> None:
    """A step that bears more pages than have URLs would take all memory there is."""
    known = questions.pages_known(connection)
    born = len(frontier) + questions.born_after(connection, frontier.last_seq)
    if born != known:
        raise ValueError(f"{known} URLs are known, but {born} pages were born")


def verify(frontier: Frontier, connection: tables.Connection) -> None:
    """Compare what was loaded with what the last commit counted; ValueError if they differ.

    A store of an earlier minicrawl may have counted less.
    """
    counters = tables.counters(connection)
    known = frontier.tally() | {tables.FETCHES: tables.fetches_known(connection)}
    for name, found in known.items():
        if counters.get(name, found) != found:
            raise ValueError(f"{name} are {found}, {counters[name]} by the last commit")
    if (urls := questions.pages_known(connection)) != len(frontier):
        raise ValueError(f"{urls} URLs are known, but {len(frontier)} pages were born")
    origins = frontier.urls.origins  # none if no URLs were loaded
    if origins and len(origins) != questions.hosts_known(connection):
        raise ValueError("hosts lack rows")


def contradictions(frontier: Frontier, connection: tables.Connection) -> Iterator[str]:
    """Where the tables of pages, of documents and of fetches do not agree."""
    undescribed = np.isin(frontier.states(), READ_STATES)
    for pages, _ in columns.contents(connection):
        undescribed[pages] = False
    if count := int(np.count_nonzero(undescribed)):
        yield f"{count} pages were read, and nothing is kept of what they said"
    if count := fetches.documents_without_fetch(connection):
        yield f"{count} pages that were never asked for are described"
    indexed, known = fetches.fetches_indexed(connection), tables.fetches_known(connection)
    if indexed != known:
        yield f"{known} fetches are known, and {indexed} are found by their page"
