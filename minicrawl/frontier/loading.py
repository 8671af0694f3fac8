"""Loading: the last checkpoint and the steps after it, with a consistency check.

Law: a file with parts from different moments may be a valid database but not a valid store. So
each commit stores counts of pages, steps and fetches (`Frontier.tally`), and a crawl or a report
compares them first when it opens a store. After a crash, other tables are compared as well.
"""

from array import array
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np

from minicrawl.frontier.changes import Numbers
from minicrawl.frontier.page_table import Frontier
from minicrawl.frontier.url_index import UrlsOf
from minicrawl.frontier.url_table import no_urls
from minicrawl.opic.ledger.books import Spending
from minicrawl.opic.ledger.channels import Channels
from minicrawl.opic.ledger.ledger import FOREIGN
from minicrawl.opic.ledger.money import UNIT
from minicrawl.states import READ_STATES, STANDS_FOR_ANOTHER, State
from minicrawl.store import page_columns, questions, step_log, tables
from minicrawl.store.disk import integrity
from minicrawl.store.records import StoreTerms

_SAVED: tuple[page_columns.Column, ...] = ("state", "key", "history", "g_time")


def load_frontier(
    connection: tables.Connection,
    terms: StoreTerms,
    spending_at: Callable[[int], Spending],
    urls_of: UrlsOf | None = None,
    saved_step: Callable[[int], int] | None = None,
    *,
    siblings: bool = False,
    values: bool = False,
) -> Frontier:
    """Load the last checkpoint and the steps after it. Without `urls_of`, URLs are not loaded.

    With `siblings`, the state of the siblings order is loaded too, with the expected values of
    pages if any page has a value or `values` is set. A caller that keeps using the
    connection in another thread passes its own `saved_step`.
    """
    saved_step = saved_step or partial(tables.spent_by, connection)
    frontier = Frontier(terms, spending_at, urls_of or no_urls, saved_step)
    frontier.edge_given = tables.small_edge(connection, terms)
    if urls_of is not None:
        frontier.urls.load(connection)
    _load_checkpoint(frontier, connection)
    if siblings:
        _load_siblings(frontier, connection, spending_at)
        if frontier.siblings is not None and (values or tables.has_values(connection)):
            from minicrawl.opic.importance.expected_value import ValueEstimate

            traits = frontier.urls.load_traits(connection)
            frontier.values = ValueEstimate(frontier.siblings, traits)
            frontier.values.restore(tables.siblings(connection))
    # Before the steps are applied: a damaged row could claim billions of new pages, which would
    # fill the memory.
    known = questions.pages_known(connection)
    born = len(frontier) + integrity.born_after(connection, frontier.last_seq)
    if born != known:
        raise ValueError(f"{known} URLs are known, but {born} pages were born")
    for row in step_log.steps_after(connection, frontier.last_seq):
        frontier.apply(row)
    return frontier


def _load_checkpoint(frontier: Frontier, connection: tables.Connection) -> None:
    (watermark, totals), key = tables.saved(connection), array("q")

    def pasts() -> Iterator[tuple[Numbers, Numbers]]:
        """Yield histories and times, and collect the other columns of the same rows."""
        for states, keys, history, times in page_columns.blocks(connection, "frontier", *_SAVED):
            frontier.state += states.tobytes()
            frontier.counts.update(dict(enumerate(np.bincount(states).tolist())))
            key.frombytes(keys.tobytes())
            yield history, times

    frontier.window.restore(pasts(), tables.measures(connection))
    frontier.ledger.restore(key, _flags(frontier), totals)
    if (ends := tables.channels(connection)) is not None:
        frontier.channels = Channels.from_rows(ends)
    if frontier.span is not None:
        frontier.span.notes = tables.times(connection)
    frontier.take_changes()  # no page is changed: all loaded pages have a row
    frontier.spendings.cut(len(frontier))
    frontier.last_seq = watermark
    steps = tables.endowed(tables.counters(connection))
    for links, units in step_log.endowments(connection, [s for s in steps if s <= watermark]):
        for seed in links:
            endowed = frontier.ledger.endowed
            endowed[seed] = endowed.get(seed, 0) + units * UNIT // len(links)
    for pages in frontier.in_state(*STANDS_FOR_ANOTHER):
        spendings = step_log.spendings_of(connection, pages.tolist())
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
    """Load the state of the siblings order.

    A store that was begun in another order has no state: its pages get no group, and its seeds are
    trusted.
    """
    from minicrawl.opic.siblings.siblings import Siblings

    if not frontier.urls.origins:
        frontier.urls.load_hosts(connection)
    frontier.siblings = Siblings(frontier.ledger, frontier.urls.host_of, frontier.urls.sites)
    if state := tables.siblings(connection):
        frontier.siblings.restore(state, len(frontier))
    elif len(frontier):
        counts = tables.counters(connection)
        steps = [seq for seq in tables.endowed(counts) if seq <= frontier.last_seq]
        seeds = sorted(chain.from_iterable(spending_at(seq).links for seq in steps))
        targets = map(frontier.books.stands_for, seeds)
        frontier.siblings.vouch([*dict.fromkeys((*seeds, *targets))])
        frontier.siblings.introduce(range(len(frontier)))
        frontier.siblings.end_early_rank()


def verify(frontier: Frontier, connection: tables.Connection) -> None:
    """Raise ValueError if the loaded frontier differs from the counts of the last commit.

    A store of an earlier minicrawl may have fewer counts.
    """
    counters = tables.counters(connection)
    known = frontier.tally() | {tables.FETCHES: tables.fetches_known(connection)}
    for name, value in known.items():
        # A count that is missing agrees: stores of earlier versions have fewer of them.
        if counters.get(name, value) != value:
            raise ValueError(f"{name}: {value}, but {counters[name]} by the last commit")
    if (urls := questions.pages_known(connection)) != len(frontier):
        raise ValueError(f"{urls} URLs are known, but {len(frontier)} pages were born")
    origins = frontier.urls.origins  # empty if no URLs were loaded
    if origins and len(origins) != (hosts := questions.hosts_known(connection)):
        raise ValueError(f"{hosts} hosts are known, but {len(origins)} have rows")


def contradictions(frontier: Frontier, connection: tables.Connection) -> Iterator[str]:
    """Yield a line for each contradiction between the tables of pages, documents and fetches."""
    undescribed = np.isin(frontier.states(), READ_STATES)
    for pages, _ in page_columns.contents(connection):
        undescribed[pages] = False
    if count := int(np.count_nonzero(undescribed)):
        yield f"{count} pages were read, but have no document"
    if count := integrity.documents_without_fetch(connection):
        yield f"{count} documents of pages that were never requested"
    indexed, known = integrity.fetches_indexed(connection), tables.fetches_known(connection)
    if indexed != known:
        yield f"{known} fetches are known, but the index by page has {indexed}"
    # Some tables contradict nothing else: only SQLite can say whether they are whole. The quick
    # check reads the file once, but trusts indexes; the one of fetches was counted above.
    for check in ("quick_check", "integrity_check(siblings)"):
        yield from integrity.integrity_errors(connection, check)
