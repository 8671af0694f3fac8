"""What a shard holds: its own pages, what is in its outbox, and what it sent.

own      pages of the shard, in columns with a row for each of them
foreign  pages of others, of which only the cash that waits and the in-links count
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.gather.stores import ShardStore
from minicrawl.errors import DamagedStore
from minicrawl.frontier.pages import Frontier
from minicrawl.opic.ledger import FOREIGN, READ, Totals
from minicrawl.report.snapshot import inlinks, last_spent, load
from minicrawl.shards.audit import Statement, statement_of
from minicrawl.shards.channels import Channels
from minicrawl.store import columns, tables
from minicrawl.store.trouble import reporting_damage
from minicrawl.wording import counted

Numbers = NDArray[np.int64]
Small = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnColumns:
    """The pages of a shard. Ids are its own, `key` is cash where a page was read."""

    state: NDArray[np.uint8]
    key: Numbers
    history: Numbers
    g_time: Numbers
    inlinks: Small
    spent: Small
    """The step that says where the page's cash goes, or 0."""
    measures: Mapping[int, bytes]
    """By the id of the page in the shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What one shard holds as of the last commit of its store."""

    is_own: NDArray[np.bool_]
    """For each row of a page."""
    own: OwnColumns
    outbox: Numbers
    """What waits on each foreign page, in atoms."""
    foreign_inlinks: Small
    forwards: Mapping[int, int]
    """page -> what it stands for, foreign or not; ids of the shard."""
    totals: Totals
    statement: Statement


def holdings(store: ShardStore) -> Holdings:
    """Load the last checkpoint and the steps behind it."""
    frontier = load(store.path, store.connection)
    with reporting_damage(store.path):
        return _holdings(store, frontier)


def _holdings(store: ShardStore, frontier: Frontier) -> Holdings:
    connection, ledger = store.connection, frontier.ledger
    statement = statement_of(store.number, ledger, frontier.channels or Channels())
    if lost := statement.minted - ledger.abroad - statement.held:
        raise DamagedStore(f"{store.path}: {counted(lost, 'atom')} of cash missing")
    links = inlinks(connection, frontier).astype(np.uint32)
    spent = last_spent(connection, frontier)
    history, g_time, measures = _pasts(connection, frontier)
    flags = np.frombuffer(ledger.flags, dtype=np.uint8)
    keys = np.frombuffer(ledger.key, dtype=np.int64).copy()
    keys[flags == READ] += ledger.virtual_page.dividend
    is_own = flags != FOREIGN
    own = OwnColumns(
        state=frontier.states()[is_own],
        key=keys[is_own],
        history=history[is_own],
        g_time=g_time[is_own],
        inlinks=links[is_own],
        spent=spent[is_own],
        measures=measures,
    )
    return Holdings(
        is_own=is_own,
        own=own,
        outbox=keys[~is_own],
        foreign_inlinks=links[~is_own],
        forwards=frontier.books.forwards,
        totals=ledger.totals,
        statement=statement,
    )


def _pasts(
    connection: tables.Connection, frontier: Frontier
) -> tuple[Numbers, Numbers, dict[int, bytes]]:
    """History, time and measures of all pages: by their rows, and by what came after these."""
    pages = len(frontier)
    saved = list(columns.frontier(connection, "history", "g_time"))
    rows = sum(len(block) for block, _ in saved)
    history, g_time = np.zeros(pages, dtype=np.int64), np.zeros(pages, dtype=np.int64)
    for place, column in enumerate((history, g_time)):
        column[:rows] = np.concatenate([np.empty(0, np.int64), *(block[place] for block in saved)])
    if rows < pages:
        g_time[rows:] = frontier.window.births(rows, pages).by_page()
    measures = tables.measures(connection)
    for page, (flowed, at, measured) in frontier.take_changes().turned.items():
        history[page], g_time[page] = flowed, at
        if measured is not None:
            measures[page] = measured
    return history, g_time, measures
