"""The last turn of each page of a shard, as steps of the log of all.

Law: links lead where they led, and their weights go with them. A blob has its links in ascending
order, and the ids of all are in another order than those of a shard; so links are sorted anew, and
what is written of them with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import NamedTuple

import numpy as np

from minicrawl.cluster.gather.holdings import Holdings, Numbers
from minicrawl.cluster.gather.names import Pages
from minicrawl.model import READ_STATES, State
from minicrawl.opic.journal import Spending, StepKind
from minicrawl.store import questions, tables
from minicrawl.store.blobs import has_self_link, pack, pack_plain, unpack, unpack_plain
from minicrawl.store.merging import asked_at
from minicrawl.store.records import WrittenRow, check_of
from minicrawl.store.written_links import WrittenLinks
from minicrawl.web.html.written import BETWEEN_ENTRIES

_LINK_BITS = 40
"""More than a page id has: a row and a link are sorted as one number."""
_BETWEEN = BETWEEN_ENTRIES.encode()


class GatheredTurn(NamedTuple):
    """The last turn of a page; `spending` is packed, None if it led nowhere."""

    at: float
    page: int
    kind: int
    state: int
    spending: bytes | None
    written: WrittenRow | None = None


class ShardTurns:
    """All last turns of a shard."""

    def __init__(self, connection: tables.Connection, shard: Holdings, pages: Pages) -> None:
        """`pages` says which page of all each page of the shard is."""
        self._connection, self._pages = connection, pages
        rows = len(shard.is_own)
        self._state = np.full(rows, State.FOREIGN, dtype=np.uint8)
        self._state[shard.is_own] = shard.own.state
        self._spent = np.zeros(rows, dtype=np.int64)
        self._spent[shard.is_own] = shard.own.spent
        self._at = asked_at(connection, rows)
        self._written = WrittenLinks(connection)

    def __iter__(self) -> Iterator[GatheredTurn]:
        """In the order of time, but for turns that are nearly of one moment."""
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
        """Turns whose links are all alike, which most are: all at once."""
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
        if state == State.UNREAD:  # it was read, and waits for another turn
            state = State.FETCHED
        return GatheredTurn(float(self._at[page]), int(self._pages[page]), kind, state, blob)


def renumbered(spending: Spending, pages: Pages) -> tuple[Spending, Sequence[int]]:
    """The spending with the pages of all, and where each of its links was before."""
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
    """The links of many pages, sorted among those of each page."""
    rows = np.repeat(np.arange(len(counts), dtype=np.int64) << _LINK_BITS, counts)
    found: Numbers = np.sort(links | rows) - rows
    return found


def _moment(turn: GatheredTurn) -> float:
    return turn.at
