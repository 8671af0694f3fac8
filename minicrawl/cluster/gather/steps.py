"""The log of all shards: births, endowments, the last turn of each page, and what waits again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge

import numpy as np

from minicrawl.cluster.gather.books import GatheredBooks
from minicrawl.cluster.gather.holdings import Holdings
from minicrawl.cluster.gather.numbering import NumberedShards
from minicrawl.cluster.gather.rows import NumberedStore, blocks
from minicrawl.cluster.gather.turns import GatheredTurn, ShardTurns
from minicrawl.model import State
from minicrawl.opic.journal import Spending, StepKind
from minicrawl.progress import Progress
from minicrawl.store.blobs import pack
from minicrawl.store.merging import PackedStep, add_steps, endowments
from minicrawl.store.records import Batch
from minicrawl.store.trouble import reporting_damage
from minicrawl.store.writer import StoreWriter

_TURNS_AT_ONCE = 20_000
_WRITTEN_AT_ONCE = 1_000
_REOPENED_AT_ONCE = 10_000


def write_log(
    out: StoreWriter,
    numbering: NumberedShards,
    held: Sequence[Holdings],
    books: GatheredBooks,
    broken: Sequence[int],
    tell: Progress,
) -> int:
    """Write all steps, and note in the books which of them says where links are; answers with the
    number of the last step. `broken` are pages that stand for others no more.
    """
    log = _Log(out, books)
    log.add(_births(numbering))
    for shard in numbering.shards:
        log.add(_endowments(shard))
    turns = merge(
        *(_turns(shard, one) for shard, one in zip(numbering.shards, held, strict=True)),
        key=_moment,
    )
    all_turns = int(np.count_nonzero(books.state != State.UNREAD))
    circles = frozenset(broken)
    for block in blocks(turns, _TURNS_AT_ONCE):
        log.add_turns([_ended(turn) if turn.page in circles else turn for turn in block])
        tell(min(log.turns / max(all_turns, 1), 1.0))
    log.add(_reopened(books))
    return log.last


class _Log:
    """Numbers the steps."""

    def __init__(self, out: StoreWriter, books: GatheredBooks) -> None:
        self._out, self._books = out, books
        self.last = self.turns = 0

    def add(self, steps: Iterator[PackedStep]) -> None:
        """These steps have no number yet."""
        numbered = [step._replace(seq=self.last + 1 + place) for place, step in enumerate(steps)]
        add_steps(self._out, numbered)
        self.last += len(numbered)

    def add_turns(self, turns: Sequence[GatheredTurn]) -> None:
        first, spent = self.last + 1, self._books.spent
        for seq, turn in enumerate(turns, start=first):
            if turn.spending is not None:
                spent[turn.page] = seq
        add_steps(
            self._out,
            (
                PackedStep(seq, turn.kind, turn.page, turn.state, 0, 0, turn.spending)
                for seq, turn in enumerate(turns, start=first)
            ),
        )
        self.last += len(turns)
        self.turns += len(turns)
        written = (turn.written for turn in turns if turn.written is not None)
        for block in blocks(written, _WRITTEN_AT_ONCE):
            self._out.commit(Batch(written=block))


def _births(numbering: NumberedShards) -> Iterator[PackedStep]:
    counts = [*(len(shard.own) for shard in numbering.shards), numbering.unheard]
    return (_step(StepKind.BORN, born=count) for count in counts if count)


def _endowments(shard: NumberedStore) -> Iterator[PackedStep]:
    for seeds, units in endowments(shard.store.connection):
        pages = sorted(shard.pages[list(seeds)].tolist())
        yield _step(StepKind.ENDOWED, amount=units, spending=pack(Spending(pages)))


def _turns(shard: NumberedStore, held: Holdings) -> Iterator[GatheredTurn]:
    with reporting_damage(shard.store.path):
        yield from ShardTurns(shard.store.connection, held, shard.pages)


def _reopened(books: GatheredBooks) -> Iterator[PackedStep]:
    """Pages that were read and wait again."""
    pages = np.flatnonzero((books.state == State.UNREAD) & (books.spent > 0)).tolist()
    for block in blocks(pages, _REOPENED_AT_ONCE):
        yield _step(StepKind.REOPEN, spending=pack(Spending(block)))


def _step(
    kind: StepKind, *, born: int = 0, amount: int = 0, spending: bytes | None = None
) -> PackedStep:
    return PackedStep(0, kind, 0, State.UNREAD, born, amount, spending)


def _ended(turn: GatheredTurn) -> GatheredTurn:
    """The page stands for no other one."""
    return turn._replace(kind=StepKind.DEAD_END, state=State.BAD_REDIRECT, spending=None)


def _moment(turn: GatheredTurn) -> float:
    return turn.at
