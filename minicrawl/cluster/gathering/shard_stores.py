"""The stores of all shards of one crawl, open for reading, their cash, and its audit.

Laws: a batch in the sender's log that the receiver's channel does not count is under way. On each
channel the receiver has posted the first batches that were sent, and no others. Stores are copied
one after another, so the receiver's copy may have batches that the older copy of the sender
lacks: they are *ahead*. That is no loss, but both copies have this cash: it is taken from the
common pot.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.gathering.common_pages import Hosts, Numbers
from minicrawl.errors import DamagedStore
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.channels import Channels
from minicrawl.opic.ledger.ledger import FOREIGN, READ
from minicrawl.report.snapshot import inlinks, last_spent, load
from minicrawl.store import page_columns, step_log, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from minicrawl.wording import counted

_NAMED = 10
AT = attrgetter("at")
"""Sort key: time of a turn or a request."""


class ShardStore(NamedTuple):
    """Store of a shard, as of the moment at which it was opened."""

    path: Path
    connection: tables.Connection
    terms: StoreTerms

    @property
    def number(self) -> int:
        return self.terms.shard


@contextmanager
def opened(paths: Sequence[Path]) -> Iterator[list[ShardStore]]:
    """Open the stores of shards of one crawl."""
    with ExitStack() as stack:
        stores: list[ShardStore] = []
        for path in paths:
            connection = stack.enter_context(reading(path))
            with reporting_damage(path):
                terms = tables.terms(connection) or StoreTerms()
            stores.append(ShardStore(path, connection, terms))
        yield stores


def of_whole_crawl(terms: StoreTerms) -> StoreTerms:
    """Return the terms as those of a crawl on one machine."""
    return replace(terms, shard=0, shards=1)


Small = NDArray[np.uint32]
SentBatches = dict[int, list[tuple[int, int]]]
"""For each receiver the batches in order: the step that sent one, and the atoms of all up to it."""


class PageSource(Protocol):
    """A store from which pages are copied, and the numbers that they get."""

    store: ShardStore
    hosts: list[int]
    """New number of each host; -1 if it is not copied."""
    pages: Small
    """New number of each page that is copied."""
    own: range
    """New numbers of the pages that the shard owns."""
    is_own: NDArray[np.bool_]
    is_foreign: NDArray[np.bool_]
    """True for pages of other shards that are copied; one value for each page of the store."""
    state: NDArray[np.uint8]
    spent: Small
    """State of each own page, and the step that says where its cash goes, or 0."""


class LoadedShard:
    """A shard as of the last commit of its store, with common numbers of its pages and hosts."""

    def __init__(self, store: ShardStore, hosts: Hosts, first: int) -> None:
        """Load the last checkpoint and the steps after it. Own pages are numbered from `first`."""
        self.store, connection = store, store.connection
        frontier = load(store.path, connection)
        ledger = frontier.ledger
        self.channels = frontier.channels or Channels()
        if lost := ledger.missing():
            raise DamagedStore(f"{store.path}: {counted(lost, 'atom')} of cash missing")
        self.totals = ledger.totals
        self.hosts = hosts.join(tables.hosts(connection))
        self.sent: SentBatches = {}
        logged = Channels()
        for seq, step in step_log.sendings(connection):
            logged.apply(step)
            batches = self.sent.setdefault(step.page, [])
            batches.append((seq, logged.sent[step.page].atoms))
        self.is_miscounted = logged.sent != self.channels.sent
        self.forwards = frontier.books.forwards
        """page -> page that it stands for, which may be foreign; ids of the shard."""
        links = inlinks(connection, frontier).astype(np.uint32)
        spent = last_spent(connection, frontier)
        history, g_time, measures = _histories(connection, frontier)
        flags = np.frombuffer(ledger.flags, dtype=np.uint8)
        keys = np.frombuffer(ledger.key, dtype=np.int64).copy()
        keys[flags == READ] += ledger.virtual_page.dividend
        self.is_own = is_own = flags != FOREIGN
        self.is_foreign = ~is_own
        self.own = range(first, first + int(np.count_nonzero(is_own)))
        self.pages: Small = np.zeros(len(is_own), dtype=np.uint32)
        """Common page of each page of the shard; 0 for foreign pages until `number_pages`."""
        self.pages[is_own] = np.arange(self.own.start, self.own.stop, dtype=np.uint32)
        self.measures = measures
        """Measures by id of the page in the shard."""
        self.outbox, self.foreign_inlinks = keys[~is_own], links[~is_own]
        """Atoms waiting on each foreign page, by ascending id, and the links to it."""
        # Columns of own pages, by ascending id.
        self.state = frontier.states()[is_own]
        self.key = keys[is_own]
        """All cash of a read page; the key of an unread one."""
        self.history, self.g_time = history[is_own], g_time[is_own]
        self.inlinks = links[is_own]
        self.spent = spent[is_own]


def _histories(
    connection: tables.Connection, frontier: Frontier
) -> tuple[Numbers, Numbers, dict[int, bytes]]:
    """Return history, time and measures of all pages, from the checkpoint and later changes."""
    pages = len(frontier)
    saved = list(page_columns.blocks(connection, "frontier", "history", "g_time"))
    rows = sum(len(block) for block, _ in saved)
    history, g_time = np.zeros(pages, dtype=np.int64), np.zeros(pages, dtype=np.int64)
    for place, column in enumerate((history, g_time)):
        column[:rows] = np.concatenate([np.empty(0, np.int64), *(block[place] for block in saved)])
    if rows < pages:
        g_time[rows:] = frontier.window.births(rows, pages).by_page()
    measures = tables.measures(connection)
    turns = frontier.take_changes().turned
    turned, histories, times = turns.latest
    history[turned], g_time[turned] = histories, times
    return history, g_time, measures | turns.measures


class UnmatchedBatches(NamedTuple):
    """Batches that a receiver has and this copy of the sender lacks."""

    sender: int
    receiver: int
    batches: int
    atoms: int


def audited(shards: Sequence[LoadedShard]) -> tuple[list[str], list[UnmatchedBatches]]:
    """Return the violations of the law, each a sentence, and batches that are merely ahead.

    Whether cash is missing over all shards is left to the merge: its ledger would keep it abroad.
    """
    sent = {shard.store.number: shard.sent for shard in shards}
    wrong = [
        f"shard {shard.store.number} counts different sent batches than its log has"
        for shard in shards
        if shard.is_miscounted
    ]
    ahead: list[UnmatchedBatches] = []
    for shard in shards:
        receiver = shard.store.number
        for sender, posted in shard.channels.received.items():
            batches = sent.get(sender, {}).get(receiver, [])
            same = batches[: posted.number]
            atoms = same[-1][1] if same else 0
            if (more := posted.number - len(batches)) > 0:
                ahead.append(UnmatchedBatches(sender, receiver, more, posted.atoms - atoms))
            elif posted.atoms != atoms:
                wrong.append(
                    f"from shard {sender} to shard {receiver}, {posted.atoms} atoms were posted of "
                    f"{atoms} in the same batches"
                )
    return wrong, ahead
