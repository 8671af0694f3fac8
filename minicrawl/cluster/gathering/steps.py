"""The gathered log: births, endowments, the last turn of each page, and reopened pages.

Law: links keep their targets and their weights. A blob has links in ascending order, and common
pages are ordered differently from a shard's; so links are sorted again, with the descriptions of
links (`--keep links`).
"""

from collections.abc import Collection, Iterator, Sequence
from heapq import merge
from typing import NamedTuple

import numpy as np

from minicrawl.cluster.gathering.ledger import LedgerTable
from minicrawl.cluster.gathering.rows import blocks
from minicrawl.cluster.gathering.shard_stores import AT, PageSource
from minicrawl.opic.ledger.books import Spending, StepKind
from minicrawl.ports import Progress
from minicrawl.states import READ_STATES, State
from minicrawl.store import step_log, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.merging import PackedStep, add_merged, asked_at
from minicrawl.store.records import Batch, WrittenRow, check_of
from minicrawl.store.step_log import all_endowments
from minicrawl.store.stored_links import has_self_link, pack, pack_plain, unpack, unpack_plain
from minicrawl.store.writer import StoreWriter
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.html.written_links import BETWEEN_ENTRIES

_TURNS_AT_ONCE = 20_000
_WRITTEN_AT_ONCE = 1_000
_PAGES_A_STEP = 10_000
_LINK_BITS = 40
"""Bits of a link when row and link are sorted as one number: more than a page id has."""
_BETWEEN = BETWEEN_ENTRIES.encode()
_NOT_TURNED = (State.UNREAD, State.FOREIGN)


class GatheredTurn(NamedTuple):
    """Last turn of a page; `spending` is packed, or None if the page led nowhere.

    `value` is the last one that a scorer gave the page.
    """

    at: float
    page: int
    kind: int
    state: int
    spending: bytes | None
    value: int | None
    written: WrittenRow | None = None


class ShardTurns:
    def __init__(self, shard: PageSource) -> None:
        self._path, self._connection = shard.store.path, shard.store.connection
        connection = self._connection
        self._pages, rows = shard.pages, len(shard.is_own)
        self._state = np.full(rows, State.FOREIGN, dtype=np.uint8)
        self._state[shard.is_own] = shard.state
        self._spent = np.zeros(rows, dtype=np.int64)
        self._spent[shard.is_own] = shard.spent
        self._at = asked_at(connection, rows)
        is_scored = tables.has_values(connection)
        self._values = tables.values_of(connection, range(rows)) if is_scored else {}
        self._written = WrittenLinks(connection)

    def __iter__(self) -> Iterator[GatheredTurn]:
        """Yield the turns, roughly in the order of time."""
        with reporting_damage(self._path):
            yield from merge(self._with_links(), self._without_links(), key=AT)

    def _without_links(self) -> Iterator[GatheredTurn]:
        are_open = np.isin(self._state, _NOT_TURNED)
        pages = np.flatnonzero(~are_open & (self._spent == 0))
        for page in pages[np.argsort(self._at[pages], kind="stable")].tolist():
            is_read = self._state[page] in READ_STATES
            yield self._turn(page, StepKind.VISIT if is_read else StepKind.DEAD_END, None)

    def _with_links(self) -> Iterator[GatheredTurn]:
        for block in step_log.spendings(self._connection):
            current = block.only(self._spent[block.pages] == block.seqs)
            plain, custom = current.split()
            if len(self._written):
                turns = [*self._one_by_one(plain), *self._one_by_one(custom)]
            else:
                turns = [*self._in_bulk(plain), *self._one_by_one(custom)]
            yield from sorted(turns, key=AT)

    def _in_bulk(self, block: step_log.Spendings) -> Iterator[GatheredTurn]:
        """Yield turns whose links all weigh the same, which most do, by bulk operations."""
        if not block.blobs:
            return
        counts, links = unpack_plain(block.blobs)
        own = np.fromiter(map(has_self_link, block.blobs), dtype=np.bool_)
        rows = np.repeat(np.arange(len(counts), dtype=np.int64) << _LINK_BITS, counts)
        links = np.sort(self._pages[links].astype(np.int64) | rows) - rows
        blobs = pack_plain(counts, links, own)
        for page, kind, blob in zip(block.pages.tolist(), block.kinds.tolist(), blobs, strict=True):
            yield self._turn(page, kind, blob)

    def _one_by_one(self, block: step_log.Spendings) -> Iterator[GatheredTurn]:
        for page, kind, blob in zip(
            block.pages.tolist(), block.kinds.tolist(), block.blobs, strict=True
        ):
            spending = unpack(blob)
            links = self._pages[np.asarray(spending.links, dtype=np.int64)]
            order = np.argsort(links).tolist()
            moved = Spending(
                np.sort(links).tolist(),
                [spending.weights[place] for place in order] if spending.weights else (),
                [spending.focus[place] for place in order] if spending.focus else (),
                spending.idle,
                spending.self_link,
                np.sort(self._pages[np.asarray(spending.unpaid, dtype=np.int64)]).tolist(),
            )
            turn = self._turn(page, kind, pack(moved))
            described = self._written.of(page, spending.links) if len(self._written) else None
            if described is None:
                yield turn
                continue
            entries = described.split(_BETWEEN)
            if len(entries) != len(order):
                counts = f"{len(order)} links, and {len(entries)} are described"
                raise ValueError(f"page {page} has {counts}")
            content = _BETWEEN.join(entries[place] for place in order)
            yield turn._replace(written=WrittenRow(turn.page, check_of(moved.links), content))

    def _turn(self, page: int, kind: int, blob: bytes | None) -> GatheredTurn:
        state = int(self._state[page])
        if state == State.UNREAD:  # the page was read, and now waits for another turn
            state = State.FETCHED
        at, value = float(self._at[page]), self._values.get(page)
        return GatheredTurn(at, int(self._pages[page]), kind, state, blob, value)


def _write_turns(
    out: StoreWriter,
    table: LedgerTable,
    turns: Sequence[GatheredTurn],
    first: int,
    broken: Collection[int],
) -> None:
    """Write turns as steps from number `first` on, and note which step has each page's links."""
    steps, values = list[PackedStep](), list[tuple[int, int, int]]()
    for seq, turn in enumerate(turns, first):
        kind, state, spending = turn.kind, turn.state, turn.spending
        if turn.page in broken:
            kind, state, spending = StepKind.DEAD_END, State.BAD_REDIRECT, None
        steps.append((seq, kind, turn.page, state, 0, 0, spending))
        if spending is not None:
            table.spent[turn.page] = seq
        if turn.value is not None:
            values.append((seq, turn.page, turn.value))
    add_merged(out, steps, values)
    written = (turn.written for turn in turns if turn.written is not None)
    for rows in blocks(written, _WRITTEN_AT_ONCE):
        out.commit(Batch(written=rows))


def write_log(
    out: StoreWriter,
    shards: Sequence[PageSource],
    unknown: int,
    table: LedgerTable,
    broken: Collection[int],
    progress: Progress,
) -> tuple[int, list[int]]:
    """Write all steps. Return the number of the last one, and those of endowments.

    After the shards' own pages come `unknown` ones, of which their owners have not heard, and
    foreign ones. The `broken` pages no longer stand for others.
    """
    endowed, last, turned = list[int](), 0, 0

    def add(kind: StepKind, *, born: int = 0, amount: int = 0, pages: Sequence[int] = ()) -> None:
        """Write a step that is not a turn."""
        nonlocal last
        last += 1
        spending = pack(Spending(pages)) if pages else None
        add_merged(out, [(last, kind, 0, State.UNREAD, born, amount, spending)])

    for count in (*(len(shard.own) for shard in shards), unknown):
        if count:
            add(StepKind.BORN, born=count)
    for foreign in blocks(np.flatnonzero(table.state == State.FOREIGN).tolist(), _PAGES_A_STEP):
        add(StepKind.BORN, born=len(foreign))
        add(StepKind.FOREIGN, amount=1, pages=foreign)
    for shard in shards:
        for seeds, units in all_endowments(shard.store.connection):
            own = [seed for seed in seeds if shard.is_own[seed]]
            if own:
                part, pages = units * len(own) // len(seeds), shard.pages[own].tolist()
                add(StepKind.ENDOWED, amount=part, pages=sorted(pages))
                endowed.append(last)
    all_turns = len(table) - int(np.count_nonzero(np.isin(table.state, _NOT_TURNED)))
    for block in blocks(merge(*map(ShardTurns, shards), key=AT), _TURNS_AT_ONCE):
        _write_turns(out, table, block, last + 1, broken)
        last, turned = last + len(block), turned + len(block)
        progress(min(turned / max(all_turns, 1), 1.0))
    wait_again = np.flatnonzero((table.state == State.UNREAD) & (table.spent > 0)).tolist()
    for pages in blocks(wait_again, _PAGES_A_STEP):
        add(StepKind.REOPEN, pages=pages)
    return last, endowed
