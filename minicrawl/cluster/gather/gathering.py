"""The stores of all shards become one.

Law: the new store gets its name when it is whole, and none is overwritten. If the law of all shards
does not hold, nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from minicrawl.cluster.gather.books import GatheredBooks
from minicrawl.cluster.gather.holdings import Holdings, holdings
from minicrawl.cluster.gather.law import Ahead, SentBatches, judged, sent_batches, under_way
from minicrawl.cluster.gather.numbering import NumberedShards, number_pages
from minicrawl.cluster.gather.rows import counters_of_all, write_rows_of_all
from minicrawl.cluster.gather.steps import write_log
from minicrawl.cluster.gather.stores import ShardStore, opened, terms_of_all
from minicrawl.crawl.refinement import refine
from minicrawl.errors import StoreError
from minicrawl.export.drafts import drafting
from minicrawl.frontier.importance import gathered
from minicrawl.opic.money import UNIT
from minicrawl.progress import Progress, part, unreported
from minicrawl.report.snapshot import load
from minicrawl.shards.channels import ChannelEnd
from minicrawl.store import tables
from minicrawl.store.merging import begin_draft, end_draft, mark
from minicrawl.store.reader import real_path, refuse_to_overwrite
from minicrawl.store.records import Batch, Checkpoint
from minicrawl.store.writer import StoreWriter
from minicrawl.wording import counted

_SHOWN = 10
_PAGES_A_CHECKPOINT = 1_000_000
_GATHERED = 0.7
"""Of the work, roughly; the rest is that ranks converge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What came of it. Cash is in units."""

    store: Path
    shards: int
    pages: int
    unheard: int
    """Pages that links lead to and whose shard has not heard of them."""
    minted: float
    in_outboxes: float
    under_way: float
    circles: int
    """Circles of pages that stand for each other, which were broken."""
    ahead: Sequence[Ahead]

    def as_json(self) -> dict[str, object]:
        """The numbers by name."""
        named = asdict(self) | {"store": str(self.store)}
        return named | {"ahead": [one._asdict() for one in self.ahead]}


def gather(
    paths: Sequence[Path],
    into: Path,
    tell: Progress = unreported,
    *,
    absent: Collection[int] = (),
) -> Gathered:
    """Make one store of those of all shards of a crawl, but for shards that have not begun.

    Its ranks converge, as those of a crawl do when it ends.
    """
    refuse_to_overwrite(into)
    place = real_path(into)
    with opened(paths, absent) as stores, drafting(place) as folder:
        draft = folder / place.name
        with closing(StoreWriter.open(draft)) as out:
            begin_draft(out)
            out.agree(terms_of_all(stores))
            found = _Gathering(stores, out, into).run(part(tell, 0, _GATHERED))
            end_draft(out)
        refuse_to_overwrite(into)
        draft.rename(place)
        has_links = terms_of_all(stores).links
    if has_links:
        refine(place, tell=part(tell, _GATHERED, 1))
    return found


class _Gathering:
    """What is known on the way."""

    def __init__(self, stores: Sequence[ShardStore], out: StoreWriter, into: Path) -> None:
        self._stores, self._out, self._into = stores, out, into
        self._held: list[Holdings] = []
        self._sent: dict[int, SentBatches] = {}
        self._outboxes = self._under_way = 0

    def run(self, tell: Progress) -> Gathered:
        self._load(part(tell, 0, 0.1))
        ahead = self._judge()
        numbering = number_pages(self._stores, self._held, self._out, part(tell, 0.1, 0.5))
        books = GatheredBooks(self._held, terms_of_all(self._stores))
        broken = self._join(books, numbering)
        self._pay(books, numbering, ahead)
        last = write_log(self._out, numbering, self._held, books, broken, part(tell, 0.5, 0.8))
        self._write(books, numbering, last)
        tell(1)
        return Gathered(
            store=self._into,
            shards=len(self._stores),
            pages=len(books),
            unheard=numbering.unheard,
            minted=books.totals.minted / UNIT,
            in_outboxes=self._outboxes / UNIT,
            under_way=self._under_way / UNIT,
            circles=len(broken),
            ahead=ahead,
        )

    # ------------------------------------------------------------ the law

    def _load(self, tell: Progress) -> None:
        for place, store in enumerate(self._stores):
            self._held.append(holdings(store))
            self._sent[store.number] = sent_batches(store)
            tell((place + 1) / len(self._stores))

    def _judge(self) -> Sequence[Ahead]:
        judgement = judged([one.statement for one in self._held], self._sent)
        if wrong := judgement.faults:
            more = f"; and {len(wrong) - _SHOWN} more" if wrong[_SHOWN:] else ""
            raise StoreError(f"the law of all shards is broken: {'; '.join(wrong[:_SHOWN])}{more}")
        return judgement.ahead

    # ------------------------------------------------------------ the books

    def _join(self, books: GatheredBooks, numbering: NumberedShards) -> list[int]:
        """All in-links, and what stands for what; answers with pages of circles."""
        books.bear(numbering.unheard)
        for shard, held in zip(numbering.shards, self._held, strict=True):
            pages = shard.pages
            books.link(pages[~held.is_own], held.foreign_inlinks)
            books.measure(pages, held)
            books.forwards.update(
                (int(pages[page]), int(pages[end])) for page, end in held.forwards.items()
            )
        return books.break_circles()

    def _pay(self, books: GatheredBooks, numbering: NumberedShards, ahead: Sequence[Ahead]) -> None:
        """What is on its way arrives."""
        for shard, held in zip(numbering.shards, self._held, strict=True):
            books.pay(shard.pages[~held.is_own], held.outbox)
            self._outboxes += int(held.outbox.sum())
            sent, number = self._sent[shard.store.number], shard.store.number
            for spending in under_way(shard.store, sent, self._posted_of(number)):
                books.pay(shard.pages[list(spending.links)], spending.weights)
                books.pay_pot(spending.idle)
                self._under_way += sum(spending.weights) + spending.idle
        books.pay_pot(-sum(one.atoms for one in ahead))
        if lost := books.missing():
            raise StoreError(f"{counted(lost, 'atom')} of cash missing over all shards")

    def _posted_of(self, sender: int) -> Mapping[int, ChannelEnd]:
        statements = (one.statement for one in self._held)
        return {
            one.shard: end for one in statements if (end := one.received.get(sender)) is not None
        }

    # ------------------------------------------------------------ the rest

    def _write(self, books: GatheredBooks, numbering: NumberedShards, last: int) -> None:
        out = self._out
        for first in range(0, len(books), _PAGES_A_CHECKPOINT):
            end = min(first + _PAGES_A_CHECKPOINT, len(books))
            rows = books.rows(first, end)
            out.checkpoint(
                Checkpoint(watermark=last, totals=books.totals, born=rows, turned=(), paid=())
            )
        requests = write_rows_of_all(numbering.shards, out)
        counters = counters_of_all(numbering.shards) | {
            tables.STATES: books.states(),
            tables.RECORDED: books.totals.recorded,
            tables.MINTED: books.totals.minted,
            tables.STEPS: last,
            tables.FETCHES: requests,
        }
        out.commit(Batch(counters=counters))
        mark(out, last)
        share = gathered(load(out.path, out.connection))
        out.commit(Batch(counters=counters | {tables.GATHERED: share}))
