"""The whole merge: audits and loads all shards, and writes the gathered store."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from minicrawl.cluster.gathering.common_pages import Hosts
from minicrawl.cluster.gathering.ledger import GatheredLedger, LedgerTable
from minicrawl.cluster.gathering.rows import counters_of_all, number_pages, write_rows_of_all
from minicrawl.cluster.gathering.shard_stores import (
    LoadedShard,
    PageSource,
    ShardStore,
    UnmatchedBatches,
    audited,
    of_whole_crawl,
    opened,
)
from minicrawl.cluster.gathering.steps import write_log
from minicrawl.crawl.refinement.converged_ranks import refine
from minicrawl.errors import StoreError
from minicrawl.frontier.importance import gathered as gathered_importance
from minicrawl.opic.ledger.money import UNIT
from minicrawl.ports import Progress, part, unreported
from minicrawl.report.snapshot import load
from minicrawl.store import step_log, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.merging import drafting_store, mark
from minicrawl.store.records import Batch, ChannelEnds, Checkpoint, StoreTerms
from minicrawl.store.writer import StoreWriter
from minicrawl.wording import counted

_SHOWN = 10
_PAGES_A_CHECKPOINT = 1_000_000
_GATHERED = 0.7
"""Rough progress when the ranks begin to converge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Report on a gathered store. Cash is in units."""

    store: Path
    shards: int
    pages: int
    unheard: int
    """Pages that links lead to and whose shards have not heard of them."""
    minted: float
    in_outboxes: float
    under_way: float
    circles: int
    """Number of broken circles of pages that stood for each other."""
    ahead: Sequence[UnmatchedBatches]


def gather(
    paths: Sequence[Path],
    into: Path,
    progress: Progress = unreported,
    *,
    converges: bool = True,
) -> Gathered:
    """Merge the stores of all shards of a crawl that have begun.

    Unless `converges` is false, ranks converge at the end, as in a crawl. Callers remove an `into`
    that was left incomplete.
    """
    with opened(paths) as stores, closing(StoreWriter.open(into)) as out:
        terms = of_whole_crawl(stores[0].terms)
        with drafting_store(out):
            out.agree(terms)
            gathered = _merged(stores, terms, out, part(progress, 0, _GATHERED))
    if terms.links and converges:
        refine(into, progress=part(progress, _GATHERED, 1))
    return gathered


def _merged(
    stores: Sequence[ShardStore], terms: StoreTerms, out: StoreWriter, progress: Progress
) -> Gathered:
    hosts, shards = Hosts(), list[LoadedShard]()
    for count, store in enumerate(stores, 1):
        with reporting_damage(store.path):
            shards.append(LoadedShard(store, hosts, shards[-1].own.stop if shards else 0))
        part(progress, 0, 0.1)(count / len(stores))
    wrong, ahead = audited(shards)
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if wrong[_SHOWN:] else ""
        raise StoreError(f"cash of the shards is wrong: {'; '.join(wrong[:_SHOWN])}{more}")
    unknown = number_pages(shards, hosts, out, part(progress, 0.1, 0.5))
    gathered = GatheredLedger(shards, terms, unknown)
    broken = gathered.break_circles()
    in_outboxes = sum(map(gathered.receive_outbox, shards))
    in_batches = 0
    posted = {
        (sender, shard.store.number): end.number
        for shard in shards
        for sender, end in shard.channels.received.items()
    }
    for shard in shards:
        for receiver, batches in shard.sent.items():
            for step, _ in batches[posted.get((shard.store.number, receiver), 0) :]:
                spending = step_log.spending(shard.store.connection, step)
                pages = shard.pages[list(spending.links)]
                in_batches += gathered.receive(pages, spending.weights, spending.idle)
    # Both shards' copies have the cash of batches that are ahead: the pot pays for them.
    gathered.ledger.virtual_page.pot -= (in_both := sum(lack.atoms for lack in ahead))
    gathered.ledger.abroad += in_both
    if lost := gathered.missing():
        raise StoreError(f"{counted(lost, 'atom')} of cash missing over all shards")
    log = write_log(out, shards, unknown, gathered, broken, part(progress, 0.5, 0.8))
    write_pages(out, shards, gathered, log, counters_of_all(shards))
    share = gathered_importance(load(out.path, out.connection))
    out.commit(Batch(counters=tables.counters(out.connection) | {tables.GATHERED: share}))
    progress(1)
    return Gathered(
        store=out.path,
        shards=len(shards),
        pages=len(gathered),
        unheard=unknown,
        minted=gathered.ledger.minted / UNIT,
        in_outboxes=in_outboxes / UNIT,
        under_way=in_batches / UNIT,
        circles=len(broken),
        ahead=ahead,
    )


def write_pages(
    out: StoreWriter,
    shards: Sequence[PageSource],
    table: LedgerTable,
    log: tuple[int, list[int]],
    counters: dict[str, object],
    channels: ChannelEnds | None = None,
) -> None:
    """Write the rows of all pages, and what the log's end and the tables say in the counters."""
    (last, endowed), totals = log, table.ledger.totals
    for first in range(0, len(table), _PAGES_A_CHECKPOINT):
        rows = table.rows(first, min(first + _PAGES_A_CHECKPOINT, len(table)))
        out.checkpoint(
            Checkpoint(
                watermark=last, totals=totals, born=rows, turned=(), paid=(), channels=channels
            )
        )
    counted_here = {
        tables.STATES: table.states(),
        tables.RECORDED: totals.recorded,
        tables.MINTED: totals.minted,
        tables.STEPS: last,
        tables.ENDOWED: endowed,
        tables.FETCHES: write_rows_of_all(shards, out),
    }
    out.commit(Batch(counters=counters | counted_here))
    mark(out, last)
