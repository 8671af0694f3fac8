"""The gathered log: births, endowments, the last turn of each page, and reopened pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from operator import attrgetter

import numpy as np

from minicrawl.cluster.gathering.ledger import GatheredLedger
from minicrawl.cluster.gathering.rows import blocks
from minicrawl.cluster.gathering.shard_stores import LoadedShard
from minicrawl.cluster.gathering.turns import GatheredTurn, ShardTurns
from minicrawl.opic.ledger.books import Spending, StepKind
from minicrawl.ports import Progress
from minicrawl.states import State
from minicrawl.store.merging import PackedStep, add_merged
from minicrawl.store.questions import all_endowments
from minicrawl.store.records import Batch, WrittenRow
from minicrawl.store.stored_links import pack
from minicrawl.store.trouble import reporting_damage
from minicrawl.store.writer import StoreWriter

_TURNS_AT_ONCE = 20_000
_WRITTEN_AT_ONCE = 1_000
_REOPENED_AT_ONCE = 10_000


class _Log:
    """Writer that numbers steps."""

    def __init__(self, out: StoreWriter, gathered: GatheredLedger) -> None:
        self._out, self._gathered = out, gathered
        self.last = self.turns = 0

    def add(
        self, kind: StepKind, *, born: int = 0, amount: int = 0, pages: Sequence[int] = ()
    ) -> None:
        """Write a step that is not a turn."""
        self.last += 1
        spending = pack(Spending(pages)) if pages else None
        add_merged(self._out, [(self.last, kind, 0, State.UNREAD, born, amount, spending)])

    def add_turns(self, turns: Sequence[GatheredTurn]) -> None:
        """Write turns, and note which step has each page's links."""
        steps, values, written = (
            list[PackedStep](),
            list[tuple[int, int, int]](),
            list[WrittenRow](),
        )
        for seq, turn in enumerate(turns, start=self.last + 1):
            steps.append((seq, turn.kind, turn.page, turn.state, 0, 0, turn.spending))
            if turn.spending is not None:
                self._gathered.spent[turn.page] = seq
            if turn.value is not None:
                values.append((seq, turn.page, turn.value))
            if turn.written is not None:
                written.append(turn.written)
        add_merged(self._out, steps, values)
        for block in blocks(written, _WRITTEN_AT_ONCE):
            self._out.commit(Batch(written=block))
        self.last += len(turns)
        self.turns += len(turns)


def write_log(
    out: StoreWriter,
    shards: Sequence[LoadedShard],
    unknown: int,
    gathered: GatheredLedger,
    broken: Sequence[int],
    progress: Progress,
) -> int:
    """Write all steps, and return the number of the last one.

    The last `unknown` pages are those that their owners have not heard of; `broken` ones no longer
    stand for others.
    """
    log = _Log(out, gathered)
    for count in (*(len(shard.own) for shard in shards), unknown):
        if count:
            log.add(StepKind.BORN, born=count)
    for shard in shards:
        for seeds, units in all_endowments(shard.store.connection):
            pages = sorted(shard.pages[list(seeds)].tolist())
            log.add(StepKind.ENDOWED, amount=units, pages=pages)
    all_turns = int(np.count_nonzero(gathered.state != State.UNREAD))
    dead_ends = frozenset(broken)
    turns = merge(*map(_turns, shards), key=attrgetter("at"))
    for block in blocks(turns, _TURNS_AT_ONCE):
        log.add_turns(
            [
                turn._replace(kind=StepKind.DEAD_END, state=State.BAD_REDIRECT, spending=None)
                if turn.page in dead_ends
                else turn
                for turn in block
            ]
        )
        progress(min(log.turns / max(all_turns, 1), 1.0))
    wait_again = np.flatnonzero((gathered.state == State.UNREAD) & (gathered.spent > 0)).tolist()
    for some in blocks(wait_again, _REOPENED_AT_ONCE):
        log.add(StepKind.REOPEN, pages=some)
    return log.last


def _turns(shard: LoadedShard) -> Iterator[GatheredTurn]:
    with reporting_damage(shard.store.path):
        yield from ShardTurns(shard)
