"""The last turn of each page of a shard, as steps of the gathered log.

Law: links keep their targets and their weights. A blob has links in ascending order, and common
pages are ordered differently from a shard's; so links are sorted again, with the descriptions of
links (`--keep links`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import NamedTuple

import numpy as np

from minicrawl.cluster.gathering.shard_stores import AT, LoadedShard, Pages
from minicrawl.opic.ledger.books import Spending, StepKind
from minicrawl.states import READ_STATES, State
from minicrawl.store import questions, tables
from minicrawl.store.merging import asked_at
from minicrawl.store.records import WrittenRow, check_of
from minicrawl.store.stored_links import has_self_link, pack, pack_plain, unpack, unpack_plain
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.html.written_links import BETWEEN_ENTRIES

_LINK_BITS = 40
"""Bits of a link when row and link are sorted as one number: more than a page id has."""
_BETWEEN = BETWEEN_ENTRIES.encode()


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
    """Last turns of all pages of a shard."""

    def __init__(self, shard: LoadedShard) -> None:
        self._connection = connection = shard.store.connection
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
        return merge(self._with_links(), self._without_links(), key=AT)

    def _without_links(self) -> Iterator[GatheredTurn]:
        are_open = np.isin(self._state, (State.UNREAD, State.FOREIGN))
        pages = np.flatnonzero(~are_open & (self._spent == 0))
        for page in pages[np.argsort(self._at[pages], kind="stable")].tolist():
            is_read = self._state[page] in READ_STATES
            yield self._turn(page, StepKind.VISIT if is_read else StepKind.DEAD_END, None)

    def _with_links(self) -> Iterator[GatheredTurn]:
        for block in questions.spendings(self._connection):
            current = block.only(self._spent[block.pages] == block.seqs)
            plain, custom = current.split()
            if len(self._written):
                turns = [*self._one_by_one(plain), *self._one_by_one(custom)]
            else:
                turns = [*self._in_bulk(plain), *self._one_by_one(custom)]
            yield from sorted(turns, key=AT)

    def _in_bulk(self, block: questions.Spendings) -> Iterator[GatheredTurn]:
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

    def _one_by_one(self, block: questions.Spendings) -> Iterator[GatheredTurn]:
        for page, kind, blob in zip(
            block.pages.tolist(), block.kinds.tolist(), block.blobs, strict=True
        ):
            spending = unpack(blob)
            moved, order = renumbered(spending, self._pages)
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


def renumbered(spending: Spending, pages: Pages) -> tuple[Spending, Sequence[int]]:
    """Return the spending with common pages, and the former position of each link."""
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
