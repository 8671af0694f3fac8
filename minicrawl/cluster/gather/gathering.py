"""Merges the stores of all shards into one.

Law: the new store gets its name when it is complete, and none is overwritten. If the law of all
shards does not hold, nothing is written.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from minicrawl.cluster.child import told_entry
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.gather.books import GatheredBooks, NumberedShards, number_pages, write_log
from minicrawl.cluster.gather.holdings import (
    Ahead,
    Holdings,
    SentBatches,
    holdings,
    in_use,
    judged,
    mark_of,
    sent_batches,
    under_way,
    unread,
)
from minicrawl.cluster.gather.stores import (
    ShardStore,
    counters_of_all,
    opened,
    terms_of_all,
    write_rows_of_all,
)
from minicrawl.cluster.pages import drafted, fetch_archives, has_pages, join_archives
from minicrawl.cluster.replica import find_end, restore
from minicrawl.cluster.terms import (
    NO_CRAWL,
    STATE_KEY,
    TERMS_KEY,
    StateRecord,
    TermsRecord,
    refuse_other_version,
)
from minicrawl.crawl.refinement import refine
from minicrawl.errors import StoreError, UsageError
from minicrawl.export.drafts import drafting, scratch
from minicrawl.frontier.importance import gathered
from minicrawl.opic.money import UNIT
from minicrawl.opic.shard_channels import ChannelEnd
from minicrawl.progress import Progress, part, unreported
from minicrawl.report.snapshot import load
from minicrawl.store import tables
from minicrawl.store.files import files_of
from minicrawl.store.reader import (
    ARCHIVE,
    LOCK,
    archive_folder,
    real_path,
    refuse_to_overwrite,
    shared_archive,
)
from minicrawl.store.records import Batch, Checkpoint
from minicrawl.store.writer import StoreWriter, begin_draft, end_draft, is_begun, mark
from minicrawl.wording import counted

_SHOWN = 10
_PAGES_A_CHECKPOINT = 1_000_000
_GATHERED = 0.7
"""Rough part of the work; the rest is convergence of the ranks."""


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
    """Circles of pages standing for each other that were broken."""
    ahead: Sequence[Ahead]

    def as_json(self) -> dict[str, object]:
        """Return the report for JSON."""
        named = asdict(self) | {"store": str(self.store)}
        return named | {"ahead": [one._asdict() for one in self.ahead]}


def gather(
    paths: Sequence[Path],
    into: Path,
    tell: Progress = unreported,
    *,
    absent: Collection[int] = (),
) -> Gathered:
    """Merge the stores of all shards of a crawl, except `absent` ones that have not begun.

    Ranks converge at the end, as in a crawl.
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
    """State of one merge."""

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
        """Add in-links and forwards of all shards; return the pages that ended circles."""
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
        """Pay cash in outboxes and under way to its pages."""
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


# ================================================================ restoring
#
# Restores all shards of a cluster from its engine and gathers them, without asking any node.
#
# Laws: the shards are restored as of one moment, or nearly. The name of a kept store identifies the
# crawl and the ends of all logs, so an existing file is as fresh as a new one, and is used again.
# Older ones that nobody reads are removed, with their side files.

_RESTORED, _MADE = 0.5, 0.7
"""Rough parts of the work."""
_JOINED = ".pages"
"""Suffix of the folder in which the archives of all shards are joined."""
_DIGEST_BYTES = 8


class KeptStore(NamedTuple):
    """A gathered store, and the report on it, or None if it existed already."""

    store: Path
    made: Gathered | None


async def gather_cluster(
    engine: ClusterEngine, into: Path, tell: Progress = unreported
) -> Gathered:
    """Gather the whole cluster into one store, including kept pages."""
    refuse_to_overwrite(into)
    terms = await _terms(engine)
    with drafted(into) as draft:
        made = await _gathered(engine, await _ends(engine, terms), draft, part(tell, 0, _MADE))
        if not has_pages(draft):
            await fetch_archives(engine, draft, archive_folder(draft), part(tell, _MADE, 1))
        refuse_to_overwrite(into)
    return replace(made, store=into)


def gather_stores(paths: Sequence[Path], into: Path, tell: Progress = unreported) -> Gathered:
    """Gather the stores of all shards into one, including the archives beside them."""
    refuse_to_overwrite(into)
    with drafted(into) as draft:
        made = gather(paths, draft, part(tell, 0, _MADE))
        if not has_pages(draft):
            join_archives(paths, draft, part(tell, _MADE, 1))
        refuse_to_overwrite(into)
    return replace(made, store=into)


async def kept_store(
    engine: ClusterEngine,
    folder: Path,
    tell: Progress = unreported,
    *,
    pages: bool = False,
    reading: ExitStack | None = None,
) -> KeptStore:
    """Return the gathered store in this folder; make a new one if the crawl has gone on.

    With `pages` the store includes the kept pages of shards, from one folder for all such stores.
    Others remove the store after the crawl has gone on, unless it is locked until `reading` ends.
    """
    terms = await _terms(engine)
    ends = await _ends(engine, terms)
    store, made = folder / f"{terms.id}-{_digest(ends)}.db", None
    if reading is not None:
        reading.enter_context(in_use(store))
    if not store.exists():
        made = await _gathered(engine, ends, store, part(tell, 0, _MADE) if pages else tell)
        _remove_older(folder, store, f"{terms.id}{_JOINED}")
    if pages and not has_pages(store):
        joined = shared_archive(store)
        await fetch_archives(engine, store, joined, part(tell, _MADE, 1))
        with suppress(FileExistsError):
            store.with_name(f"{store.name}{ARCHIVE}").symlink_to(joined.name)
    return KeptStore(store, made)


async def _terms(engine: ClusterEngine) -> TermsRecord:
    found = await engine.get(TERMS_KEY)
    if found is None or found.value is None:
        raise UsageError(NO_CRAWL)
    terms = TermsRecord.unpack(TERMS_KEY, found.value)
    refuse_other_version(terms)
    return terms


async def _ends(engine: ClusterEngine, terms: TermsRecord) -> list[int]:
    """Return the last entries of all logs, in parallel."""
    run = await _run(engine)

    async def end(shard: int) -> int:
        return await find_end(engine, shard, await told_entry(engine, shard, run))

    return await asyncio.gather(*map(end, range(terms.shards)))


async def _run(engine: ClusterEngine) -> int:
    """Return the number of the crawl's run, or 0 if unknown."""
    found = await engine.get(STATE_KEY)
    if found is None or found.value is None:
        return 0
    return StateRecord.unpack(STATE_KEY, found.value).run


async def _gathered(
    engine: ClusterEngine, ends: Sequence[int], into: Path, tell: Progress
) -> Gathered:
    into.parent.mkdir(parents=True, exist_ok=True)
    with scratch("gather", into.parent) as folder:
        begun: list[Path] = []
        absent: list[int] = []
        for shard, end in enumerate(ends):
            path = folder / f"shard-{shard}.db"
            await restore(engine, shard, path, until=end)
            if is_begun(path):
                begun.append(path)
            else:
                absent.append(shard)
            part(tell, 0, _RESTORED)((shard + 1) / len(ends))
        if not begun:
            raise UsageError("the crawl of this cluster has no pages yet: no node has begun it")
        return await asyncio.to_thread(gather, begun, into, part(tell, _RESTORED, 1), absent=absent)


def _digest(ends: Sequence[int]) -> str:
    return blake2b(repr(list(ends)).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _remove_older(folder: Path, store: Path, joined: str) -> None:
    """Remove stores of other moments and of earlier crawls, with their side files."""
    for other in folder.glob(f"*{_JOINED}"):
        if other.name != joined:
            shutil.rmtree(other, ignore_errors=True)
    for other in folder.glob("*.db"):
        if other != store:
            with unread(other) as is_unread:
                if is_unread:
                    _remove(other)


def _remove(store: Path) -> None:
    for file in (*files_of(store), store.with_name(f"{store.name}{LOCK}"), mark_of(store)):
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file, ignore_errors=True)
        else:
            file.unlink(missing_ok=True)
