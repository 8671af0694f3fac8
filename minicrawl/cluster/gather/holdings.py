"""Holdings of a shard: its own pages, its outbox, and what it has sent.

own      pages of the shard, in columns with a row for each
foreign  pages of other shards, of which only waiting cash and in-links count
"""

from __future__ import annotations

import fcntl
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from heapq import merge
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.gather.stores import Pages, ShardStore
from minicrawl.cluster.shard import Statement, faults, statement_of
from minicrawl.errors import DamagedStore
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import READ_STATES, State
from minicrawl.opic.ledger import FOREIGN, READ, Spending, StepKind, Totals
from minicrawl.opic.shard_channels import ChannelEnd, Channels
from minicrawl.report.snapshot import inlinks, last_spent, load
from minicrawl.store import questions, tables
from minicrawl.store.blobs import has_self_link, pack, pack_plain, unpack, unpack_plain
from minicrawl.store.records import WrittenRow, check_of, reporting_damage
from minicrawl.store.writer import asked_at
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.html.markup import BETWEEN_ENTRIES
from minicrawl.wording import counted

Numbers = NDArray[np.int64]
Small = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnColumns:
    """Own pages of a shard, by the shard's ids. `key` of a read page is all of its cash."""

    state: NDArray[np.uint8]
    key: Numbers
    history: Numbers
    g_time: Numbers
    inlinks: Small
    spent: Small
    """Number of the step that says where the page's cash goes, or 0."""
    measures: Mapping[int, bytes]
    """By the shard's id of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """Holdings of one shard as of the last commit of its store."""

    is_own: NDArray[np.bool_]
    """True for own pages, one value for each page."""
    own: OwnColumns
    outbox: Numbers
    """Atoms waiting on each foreign page."""
    foreign_inlinks: Small
    forwards: Mapping[int, int]
    """page -> page for which it stands, foreign or not; ids of the shard."""
    totals: Totals
    statement: Statement


def holdings(store: ShardStore) -> Holdings:
    """Load the holdings from the last checkpoint and the steps behind it."""
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
    """Return history, time and measures of all pages, from the checkpoint and later changes."""
    pages = len(frontier)
    saved = list(tables.frontier(connection, "history", "g_time"))
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


# ================================================================ law
#
# The law of all shards, proven from the senders' logs and the receivers' channels.
#
# Laws: a batch in the sender's log that the receiver's channel does not count is under way. On each
# channel the receiver has posted the first batches that were sent, and no others. Stores are copied
# one after another, so a receiver may have batches that the older copy of the sender lacks. That is
# no loss, but both copies have this cash: it is taken from the common pot.
#
# ahead    batches that the copy of the receiver has and the copy of the sender lacks

NOTHING = ChannelEnd()


class SentChannel:
    """The batches from one shard to another, by the sender's log."""

    def __init__(self) -> None:
        self._steps = array("q")
        self._atoms = array("q")

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: int, number: int, atoms: int) -> None:
        """Add the next batch, sent by this step."""
        if number != len(self) + 1:
            raise ValueError(f"batch {number} follows batch {len(self)}: the log has a gap")
        self._atoms.append(self.until(len(self)) + atoms)
        self._steps.append(step)

    def until(self, number: int) -> int:
        """Return the atoms of the first `number` batches."""
        return self._atoms[number - 1] if number else 0

    def after(self, number: int) -> Sequence[int]:
        """Return the steps that sent the batches behind `number`."""
        return self._steps[number:]


SentBatches = Mapping[int, SentChannel]
"""Channels by receiver."""


class Ahead(NamedTuple):
    """Batches that a receiver has and this copy of the sender lacks."""

    sender: int
    receiver: int
    batches: int
    atoms: int

    def __str__(self) -> str:
        return (
            f"the store of shard {self.receiver} is younger than that of shard {self.sender}: "
            f"it has {self.batches:,} more of its batches"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFindings:
    """Violations of the law, each a sentence, and copies that merely differ in age."""

    faults: Sequence[str]
    ahead: Sequence[Ahead]


def sent_batches(store: ShardStore) -> SentBatches:
    """Return the channels of a shard, from the SEND steps of its log."""
    channels: dict[int, SentChannel] = {}
    with reporting_damage(store.path):
        for seq, step in tables.sendings_after(store.connection, 0):
            atoms = sum(step.spending.weights) + step.spending.idle
            channels.setdefault(step.page, SentChannel()).add(seq, step.amount, atoms)
    return channels


def judged(statements: Sequence[Statement], sent: Mapping[int, SentBatches]) -> LawFindings:
    """Check the law of all shards; `sent` is by sender."""
    ahead = list(_ahead(statements))
    then = [_at_the_moment_of_senders(one, ahead) for one in statements]

    def sent_until(sender: int, receiver: int, number: int) -> int:
        channel = sent.get(sender, {}).get(receiver)
        return channel.until(number) if channel else 0

    return LawFindings(
        faults=[*_unlogged(statements, sent), *faults(then, sent_until)], ahead=ahead
    )


def under_way(
    store: ShardStore, sent: SentBatches, received: Mapping[int, ChannelEnd]
) -> Iterator[Spending]:
    """Yield what the shard sent and nobody has posted.

    `received` has, by receiver, the end of the shard's channel there.
    """
    for receiver, channel in sent.items():
        for step in channel.after(received.get(receiver, NOTHING).number):
            yield tables.spending(store.connection, step)


def _ahead(statements: Sequence[Statement]) -> Iterator[Ahead]:
    ends = {(one.shard, to): end for one in statements for to, end in one.sent.items()}
    for one in statements:
        for sender, end in one.received.items():
            sent = ends.get((sender, one.shard), NOTHING)
            if end.number > sent.number:
                more = end.number - sent.number
                yield Ahead(sender, one.shard, more, end.atoms - sent.atoms)


def _at_the_moment_of_senders(one: Statement, ahead: Sequence[Ahead]) -> Statement:
    """Return the statement without batches that are ahead."""
    received, held = dict(one.received), one.held
    for more in ahead:
        if more.receiver == one.shard:
            end = received[more.sender]
            received[more.sender] = ChannelEnd(end.number - more.batches, end.atoms - more.atoms)
            held -= more.atoms
    return replace(one, received=received, held=held)


def _unlogged(statements: Sequence[Statement], sent: Mapping[int, SentBatches]) -> Iterator[str]:
    """Yield the shards whose counts of sent batches differ from their logs."""
    for one in statements:
        logged = {
            to: ChannelEnd(len(channel), channel.until(len(channel)))
            for to, channel in sent[one.shard].items()
        }
        if logged != one.sent:
            yield f"shard {one.shard} counts other batches as sent than its log has"


# ================================================================ turns
#
# The last turn of each page of a shard, as steps of the gathered log.
#
# Law: links keep their targets and their weights. A blob has links in ascending order, and common
# ids are ordered differently from a shard's; so links are sorted anew, with the descriptions of
# them.

_LINK_BITS = 40
"""Bits of a link when row and link are sorted as one number: more than a page id has."""
_BETWEEN = BETWEEN_ENTRIES.encode()


class GatheredTurn(NamedTuple):
    """The last turn of a page; `spending` is packed, or None if it led nowhere."""

    at: float
    page: int
    kind: int
    state: int
    spending: bytes | None
    written: WrittenRow | None = None


class ShardTurns:
    """Last turns of all pages of a shard."""

    def __init__(self, connection: tables.Connection, shard: Holdings, pages: Pages) -> None:
        """`pages` maps pages of the shard to common pages."""
        self._connection, self._pages = connection, pages
        rows = len(shard.is_own)
        self._state = np.full(rows, State.FOREIGN, dtype=np.uint8)
        self._state[shard.is_own] = shard.own.state
        self._spent = np.zeros(rows, dtype=np.int64)
        self._spent[shard.is_own] = shard.own.spent
        self._at = asked_at(connection, rows)
        self._written = WrittenLinks(connection)

    def __iter__(self) -> Iterator[GatheredTurn]:
        """Yield the turns, roughly in the order of time."""
        return merge(self._with_links(), self._without_links(), key=_moment)

    def _without_links(self) -> Iterator[GatheredTurn]:
        others = np.isin(self._state, (State.UNREAD, State.FOREIGN))
        pages = np.flatnonzero(~others & (self._spent == 0))
        for page in pages[np.argsort(self._at[pages], kind="stable")].tolist():
            state = int(self._state[page])
            kind = StepKind.VISIT if state in READ_STATES else StepKind.DEAD_END
            yield GatheredTurn(float(self._at[page]), int(self._pages[page]), kind, state, None)

    def _with_links(self) -> Iterator[GatheredTurn]:
        for block in questions.spendings(self._connection):
            current = block.only(self._spent[block.pages] == block.seqs)
            plain, others = current.split()
            if len(self._written):
                turns = [*self._each(plain), *self._each(others)]
            else:
                turns = [*self._alike(plain), *self._each(others)]
            yield from sorted(turns, key=_moment)

    def _alike(self, block: questions.Spendings) -> Iterator[GatheredTurn]:
        """Yield turns whose links are all alike, which most are, from bulk operations."""
        if not block.blobs:
            return
        counts, links = unpack_plain(block.blobs)
        own = np.fromiter(map(has_self_link, block.blobs), dtype=np.bool_)
        links = sorted_in_rows(counts, self._pages[links].astype(np.int64))
        blobs = pack_plain(counts, links, own)
        for page, kind, blob in zip(block.pages.tolist(), block.kinds.tolist(), blobs, strict=True):
            yield self._turn(page, kind, blob)

    def _each(self, block: questions.Spendings) -> Iterator[GatheredTurn]:
        for page, kind, blob in zip(
            block.pages.tolist(), block.kinds.tolist(), block.blobs, strict=True
        ):
            spending = unpack(blob)
            moved, order = renumbered(spending, self._pages)
            turn = self._turn(page, kind, pack(moved))
            yield turn._replace(written=self._written_of(turn.page, page, spending, moved, order))

    def _written_of(
        self, page: int, own: int, spending: Spending, moved: Spending, order: Sequence[int]
    ) -> WrittenRow | None:
        found = self._written.of(own, spending.links) if len(self._written) else None
        if found is None:
            return None
        entries = found.split(_BETWEEN)
        if len(entries) != len(order):
            raise ValueError(f"page {own} has {len(order)} links, and {len(entries)} are described")
        content = _BETWEEN.join(entries[place] for place in order)
        return WrittenRow(page, check_of(moved.links), content)

    def _turn(self, page: int, kind: int, blob: bytes) -> GatheredTurn:
        state = int(self._state[page])
        if state == State.UNREAD:  # the page was read, and waits for another turn
            state = State.FETCHED
        return GatheredTurn(float(self._at[page]), int(self._pages[page]), kind, state, blob)


def renumbered(spending: Spending, pages: Pages) -> tuple[Spending, Sequence[int]]:
    """Return the spending with common ids, and the former position of each link."""
    links = pages[np.asarray(spending.links, dtype=np.int64)]
    order = np.argsort(links).tolist()
    return (
        Spending(
            np.sort(links).tolist(),
            [spending.weights[place] for place in order] if spending.weights else (),
            [spending.focus[place] for place in order] if spending.focus else (),
            spending.idle,
            spending.self_link,
            np.sort(pages[np.asarray(spending.unpaid, dtype=np.int64)]).tolist(),
        ),
        order,
    )


def sorted_in_rows(counts: Numbers, links: Numbers) -> Numbers:
    """Sort the links within each page."""
    rows = np.repeat(np.arange(len(counts), dtype=np.int64) << _LINK_BITS, counts)
    found: Numbers = np.sort(links | rows) - rows
    return found


def _moment(turn: GatheredTurn) -> float:
    return turn.at


# ================================================================ in use
#
# Locks on gathered stores that are being read.
#
# Law: a store is not removed while somebody reads it. The lock of a killed reader ends with it.

_MARK = "-used"


def mark_of(store: Path) -> Path:
    """Return the file that readers of a store lock. It is removed with the store."""
    return store.with_name(f"{store.name}{_MARK}")


@contextmanager
def in_use(store: Path) -> Iterator[None]:
    """Keep a store, which need not exist yet, from being removed until exit."""
    held = _locked(mark_of(store))
    try:
        yield
    finally:
        os.close(held)


@contextmanager
def unread(store: Path) -> Iterator[bool]:
    """Yield whether nobody reads the store. If so, new readers wait until exit."""
    mark = os.open(mark_of(store), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(mark)


def _locked(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        mark = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(mark, fcntl.LOCK_SH)
        if _is_there(mark, path):
            return mark
        os.close(mark)  # the store was removed while we waited


def _is_there(mark: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(mark), path.stat())
    return False
