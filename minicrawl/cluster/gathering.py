"""Merges the stores of all shards into one ordinary store, on which every command works.

The gathered store is the state that the cluster would have if everything under way had arrived. The
steps of the shards cannot be replayed in one ledger: a visit spends all that its page holds, and
each shard paid its pages out of a pot of its own, so one ledger would move other amounts. But a
ledger can receive cash of other shards. So one ledger begins with the own pages and the pots of all
shards, as if each shard had just sent everything in its outbox; then it receives the outboxes, and
the batches that were sent and not posted. It counts the cash that is still *abroad*: 0 in the end.

Example, in units. Shard 0 has read /a, which links to /b of shard 1. Shard 1 knows /b already.

                       shard 0              shard 1       one ledger, first   after it received
    minted             2                    1             3                   3
    /a                 0.6                                0.6                 0.6
    /b                                      0.9           0.9                 1.9
    pot                0.4                  0.1           0.5                 0.5
    outbox             0.2 for /b
    batch 1, unposted  0.8 for /b
    abroad             0.8                  0             0.8 + 0.2 = 1       0

A page that its owner has not heard of is minted with its unit, as its owner would have done.

Laws: if the audit of all shards finds a fault, the fault is reported and nothing is written. The
stores may be of different moments. The new store gets its name when it is complete, and no file is
overwritten. Memory is about 60 bytes for each row of a page in a shard. The log of the gathered
store has the last turn of each page, ordered by time: its links, or the page that it stands for. It
is not replayed; the cash is proven from the logs of the shards.

ledger     one ledger with the pages of all shards, and their histories by one clock
steps      the gathered log
gathering  the whole merge
restoring  gathers a running cluster from its engine, and keeps the result until the crawl goes on
in use     locks on gathered stores that are being read
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from heapq import merge
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.kept_pages import fetch_archives, has_pages, join_archives
from minicrawl.cluster.replica import find_end, restore
from minicrawl.cluster.shard_stores import (
    GatheredTurn,
    Hosts,
    LoadedShard,
    Numbers,
    ShardStore,
    ShardTurns,
    Small,
    UnmatchedBatches,
    audited,
    blocks,
    counters_of_all,
    load_shard,
    number_pages,
    of_whole_crawl,
    opened,
    write_rows_of_all,
)
from minicrawl.cluster.terms import (
    TermsRecord,
    last_told,
    refuse_other_version,
    state_of,
    terms_of,
)
from minicrawl.crawl.refinement import refine
from minicrawl.errors import StoreError, UsageError
from minicrawl.frontier.importance import gathered as gathered_importance
from minicrawl.model import State
from minicrawl.opic.ledger import READ, UNREAD, Books, Ledger, Spending, Step, StepKind, Totals
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows import TICK_BITS
from minicrawl.own_files import scratch
from minicrawl.ports import Progress, part, unreported
from minicrawl.report.snapshot import load
from minicrawl.store import tables
from minicrawl.store.files import files_of, move
from minicrawl.store.questions import endowments, is_begun
from minicrawl.store.reader import (
    ARCHIVE,
    LOCK,
    archive_folder,
    refuse_to_overwrite,
    shared_archive,
)
from minicrawl.store.records import (
    Batch,
    Checkpoint,
    FrontierRow,
    StoreTerms,
    reporting_damage,
)
from minicrawl.store.stored_links import pack
from minicrawl.store.writer import (
    PackedStep,
    StoreWriter,
    add_steps,
    add_values,
    begin_draft,
    end_draft,
    mark,
)
from minicrawl.wording import counted

# ================================================================ ledger
#
# One ledger with the pages of all shards.
#
# In a shard a read page holds its key plus the dividend; here its key has both, and the dividend is
# 0. One pot has what all pots hold.
#
# clock    The clock of a shard counts the cash that its own pages have passed on, and the common
#          clock that of all pages. A circulation is the time in which all minted cash is passed on
#          once. Converted times are as many circulations ago as they were in the shard.
# circle   Pages of several shards may stand for each other in a circle, until cash has gone round
#          often enough to break it. Here the page of the circle with the largest number becomes a
#          dead end.

_ROWS_AT_ONCE = 1 << 14
_MEASURED = frozenset(("fixed", "improved-fixed", "variable"))


class GatheredLedger:
    """Ledger with the pages of all shards, and the other columns that a store has of pages."""

    def __init__(self, shards: Sequence[LoadedShard], terms: StoreTerms, unknown: int) -> None:
        """Join the own pages of all shards, one shard after another, and mint `unknown` others."""
        self._terms = terms
        self.state: NDArray[np.uint8] = np.concatenate([one.state for one in shards])
        is_unread = self.state == State.UNREAD
        ledger, totals = Ledger(), [one.totals for one in shards]
        ledger.restore(
            array("q", np.concatenate([one.key for one in shards]).tobytes()),
            bytearray(np.where(is_unread, UNREAD, READ).astype(np.uint8)),
            totals[0]._replace(
                minted=sum(one.minted for one in totals),
                recorded=sum(one.recorded for one in totals),
                dividend=0,
                virtual=sum(one.virtual for one in totals),
                pot=sum(one.pot for one in totals),
                unread=int(np.count_nonzero(is_unread)),
                foreign=0,
                abroad=sum(one.totals.abroad + int(one.outbox.sum()) for one in shards),
            ),
        )
        self.ledger, self.books = ledger, Books(ledger, lambda _page: Spending(()))
        times = [self._retimed(one.g_time, one.totals) for one in shards]
        self.books.apply(Step(StepKind.BORN, born=unknown))
        nothing = np.zeros(unknown, dtype=np.uint32)
        self.state = np.append(self.state, np.full(unknown, State.UNREAD, dtype=np.uint8))
        self.history: Numbers = np.concatenate([*(one.history for one in shards), nothing])
        self.g_time: Numbers = np.concatenate([*times, np.full(unknown, ledger.now)])
        self.inlinks: Small = np.concatenate([*(one.inlinks for one in shards), nothing])
        self.spent: Small = np.zeros(len(self), dtype=np.uint32)
        self.measures: dict[int, bytes] = {}
        for one in shards:
            self.inlinks[one.pages[~one.is_own]] += one.foreign_inlinks
            self._add_measures(one)
            self.books.forwards.update(
                (int(one.pages[page]), int(one.pages[end])) for page, end in one.forwards.items()
            )

    def __len__(self) -> int:
        return len(self.ledger)

    # ------------------------------------------------------------ clocks

    def _retimed(self, times: Numbers, shard: Totals) -> Numbers:
        """Convert times of a shard to the common clock."""
        scale = self.ledger.minted / max(shard.minted, 1)
        ages = (shard.recorded >> TICK_BITS) - times
        found: Numbers = np.maximum(self.ledger.now - np.rint(ages * scale).astype(np.int64), 0)
        return found

    def _add_measures(self, shard: LoadedShard) -> None:
        """Add a shard's measures, by the common clock."""
        for page, packed in shard.measures.items():
            numbers = np.frombuffer(packed, dtype=np.int64).copy()
            if self._terms.window in _MEASURED:
                size = 3 if self._terms.measures else 2
                numbers[::size] = self._retimed(numbers[::size], shard.totals)
            elif self._terms.window == "adaptive":
                scale = self.ledger.minted / max(shard.totals.minted, 1)
                numbers[0] = max(1, round(int(numbers[0]) * scale))
            self.measures[int(shard.pages[page])] = numbers.tobytes()

    # ------------------------------------------------------------ cash

    def receive(self, pages: Small, atoms: Sequence[int], to_pot: int = 0) -> int:
        """Post cash that is abroad, and return its atoms."""
        spending = Spending(pages.tolist(), atoms, (), to_pot)
        self.books.apply(Step(StepKind.RECEIVE, spending=spending))
        return sum(atoms) + to_pot

    def receive_outbox(self, shard: LoadedShard) -> int:
        """Post the cash that waits on foreign pages of a shard, and return its atoms."""
        waits = np.flatnonzero(shard.outbox)
        foreign, total = shard.pages[~shard.is_own], 0
        for start in range(0, len(waits), _ROWS_AT_ONCE):
            some = waits[start : start + _ROWS_AT_ONCE]
            total += self.receive(foreign[some], shard.outbox[some].tolist())
        return total

    def take_from_pot(self, atoms: int) -> None:
        """Remove the cash of batches that are ahead from the pot: both shards' copies have it."""
        self.ledger.virtual_page.pot -= atoms
        self.ledger.abroad += atoms

    def break_circles(self) -> list[int]:
        """Make the last page of each circle a dead end, and return these pages."""
        forwards = self.books.forwards
        # Any page of the circle would do; the largest number makes the choice the same each time.
        broken = [max(circle) for circle in _circles(forwards)]
        for page in broken:
            self.inlinks[forwards.pop(page)] -= 1
            self.state[page] = State.BAD_REDIRECT
        return broken

    # ------------------------------------------------------------ results

    def missing(self) -> int:
        """Return the atoms that are on no page, or still abroad; 0 unless stores are damaged."""
        return self.ledger.missing() + self.ledger.abroad

    def states(self) -> dict[str, int]:
        counts = np.bincount(self.state).tolist()
        return {str(state): pages for state, pages in enumerate(counts) if pages}

    def rows(self, first: int, end: int) -> Iterable[FrontierRow]:
        """Yield the rows of a range of pages."""
        key = np.frombuffer(self.ledger.key, dtype=np.int64)
        columns = (self.state, key, self.history, self.g_time, self.inlinks, self.spent)
        for start in range(first, end, _ROWS_AT_ONCE):
            pages = range(start, min(start + _ROWS_AT_ONCE, end))
            values = (column[start : pages.stop].tolist() for column in columns)
            measures = map(self.measures.get, pages)
            yield from map(FrontierRow._make, zip(pages, *values, measures, strict=True))


def _circles(forwards: Mapping[int, int]) -> Iterable[list[int]]:
    settled: set[int] = set()
    for start in forwards:
        trail: dict[int, None] = {}
        page = start
        while page in forwards and page not in settled:
            settled.add(page)
            trail[page] = None
            page = forwards[page]
        if page in trail:
            way = list(trail)
            yield way[way.index(page) :]


# ================================================================ steps
#
# The gathered log: births, endowments, the last turn of each page, and reopened pages.

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
        add_steps(self._out, [PackedStep(self.last, kind, 0, State.UNREAD, born, amount, spending)])

    def add_turns(self, turns: Sequence[GatheredTurn]) -> None:
        """Write turns, and note which step has each page's links."""
        first, spent = self.last + 1, self._gathered.spent
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
        values = (
            (seq, turn.page, turn.value)
            for seq, turn in enumerate(turns, start=first)
            if turn.value is not None
        )
        add_values(self._out, values)
        self.last += len(turns)
        self.turns += len(turns)
        written = (turn.written for turn in turns if turn.written is not None)
        for block in blocks(written, _WRITTEN_AT_ONCE):
            self._out.commit(Batch(written=block))


def write_log(
    out: StoreWriter,
    shards: Sequence[LoadedShard],
    unknown: int,
    gathered: GatheredLedger,
    broken: Sequence[int],
    tell: Progress,
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
        for seeds, units in endowments(shard.store.connection):
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
        tell(min(log.turns / max(all_turns, 1), 1.0))
    wait_again = np.flatnonzero((gathered.state == State.UNREAD) & (gathered.spent > 0)).tolist()
    for some in blocks(wait_again, _REOPENED_AT_ONCE):
        log.add(StepKind.REOPEN, pages=some)
    return log.last


def _turns(shard: LoadedShard) -> Iterator[GatheredTurn]:
    with reporting_damage(shard.store.path):
        yield from ShardTurns(shard)


# ================================================================ gathering

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

    def as_json(self) -> dict[str, object]:
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

    Ranks converge at the end, as in a crawl. Callers remove an `into` that was left incomplete.
    """
    with opened(paths, absent) as stores, closing(StoreWriter.open(into)) as out:
        terms = of_whole_crawl(stores[0].terms)
        begin_draft(out)
        out.agree(terms)
        found = _merged(stores, terms, out, part(tell, 0, _GATHERED))
        end_draft(out)
    if terms.links:
        refine(into, tell=part(tell, _GATHERED, 1))
    return found


def _merged(
    stores: Sequence[ShardStore], terms: StoreTerms, out: StoreWriter, tell: Progress
) -> Gathered:
    hosts, shards = Hosts(), list[LoadedShard]()
    for count, store in enumerate(stores, 1):
        shards.append(load_shard(store, hosts, shards[-1].own.stop if shards else 0))
        part(tell, 0, 0.1)(count / len(stores))
    wrong, ahead = audited(shards)
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if wrong[_SHOWN:] else ""
        raise StoreError(f"cash of the shards is wrong: {'; '.join(wrong[:_SHOWN])}{more}")
    unknown = number_pages(shards, hosts, out, part(tell, 0.1, 0.5))
    gathered = GatheredLedger(shards, terms, unknown)
    broken = gathered.break_circles()
    in_outboxes = sum(map(gathered.receive_outbox, shards))
    in_batches = _receive_batches(gathered, shards)
    gathered.take_from_pot(sum(one.atoms for one in ahead))
    if lost := gathered.missing():
        raise StoreError(f"{counted(lost, 'atom')} of cash missing over all shards")
    last = write_log(out, shards, unknown, gathered, broken, part(tell, 0.5, 0.8))
    _write(out, shards, gathered, last)
    tell(1)
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


def _receive_batches(gathered: GatheredLedger, shards: Sequence[LoadedShard]) -> int:
    """Post all batches that were sent and not posted, and return their atoms."""
    atoms = 0
    posted = {
        (sender, one.store.number): end.number
        for one in shards
        for sender, end in one.statement.received.items()
    }
    for shard in shards:
        for receiver, sent in shard.sent.items():
            for step in sent.after(posted.get((shard.store.number, receiver), 0)):
                spending = tables.spending(shard.store.connection, step)
                pages = shard.pages[list(spending.links)]
                atoms += gathered.receive(pages, spending.weights, spending.idle)
    return atoms


def _write(
    out: StoreWriter, shards: Sequence[LoadedShard], gathered: GatheredLedger, last: int
) -> None:
    totals = gathered.ledger.totals
    for first in range(0, len(gathered), _PAGES_A_CHECKPOINT):
        rows = gathered.rows(first, min(first + _PAGES_A_CHECKPOINT, len(gathered)))
        out.checkpoint(Checkpoint(watermark=last, totals=totals, born=rows, turned=(), paid=()))
    requests = write_rows_of_all(shards, out)
    counters = counters_of_all(shards) | {
        tables.STATES: gathered.states(),
        tables.RECORDED: totals.recorded,
        tables.MINTED: totals.minted,
        tables.STEPS: last,
        tables.FETCHES: requests,
    }
    out.commit(Batch(counters=counters))
    mark(out, last)
    share = gathered_importance(load(out.path, out.connection))
    out.commit(Batch(counters=counters | {tables.GATHERED: share}))


# ================================================================ restoring
#
# Restores all shards of a cluster from its engine and gathers them, without asking any node.
#
# Laws: the shards are restored as of one moment, or nearly. The name of a kept store identifies the
# crawl and the ends of all logs, so an existing file is as fresh as a new one, and is used again.
# Older stores that nobody reads are removed, with their side files.

_RESTORED, _MADE = 0.5, 0.7
"""Rough progress when the shards are restored, and when the store is made."""
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
    with _drafted(into) as draft:
        ends = await _ends(engine, await _terms(engine))
        made = await _gathered(engine, ends, draft, part(tell, 0, _MADE))
        if not has_pages(draft):
            await fetch_archives(engine, draft, archive_folder(draft), part(tell, _MADE, 1))
    return replace(made, store=into)


def gather_stores(paths: Sequence[Path], into: Path, tell: Progress = unreported) -> Gathered:
    """Gather the stores of all shards into one, including the archives beside them."""
    with _drafted(into) as draft:
        made = gather(paths, draft, part(tell, 0, _MADE))
        if not has_pages(draft):
            join_archives(paths, draft, part(tell, _MADE, 1))
    return replace(made, store=into)


@contextmanager
def _drafted(into: Path) -> Iterator[Path]:
    """Yield a draft path for a store; at the end, the store and its side files move to `into`."""
    refuse_to_overwrite(into)
    into.parent.mkdir(parents=True, exist_ok=True)
    with scratch("gathered", into.parent) as folder:
        draft = folder / into.name
        yield draft
        refuse_to_overwrite(into)
        move(draft, into)


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
    Other callers remove the store when the crawl has gone on, but not before `reading` is closed.
    """
    terms = await _terms(engine)
    ends = await _ends(engine, terms)
    store, made = folder / f"{terms.id}-{_digest(ends)}.db", None
    if reading is not None:
        reading.enter_context(in_use(store))
    if not store.exists():
        with _drafted(store) as draft:
            made = await _gathered(engine, ends, draft, part(tell, 0, _MADE) if pages else tell)
        made = replace(made, store=store)
        _remove_older(folder, store)
    if pages and not has_pages(store):
        joined = shared_archive(store)
        await fetch_archives(engine, store, joined, part(tell, _MADE, 1))
        with suppress(FileExistsError):
            store.with_name(f"{store.name}{ARCHIVE}").symlink_to(joined.name)
    return KeptStore(store, made)


async def _terms(engine: ClusterEngine) -> TermsRecord:
    terms, _ = await terms_of(engine)
    refuse_other_version(terms)
    return terms


async def _ends(engine: ClusterEngine, terms: TermsRecord) -> list[int]:
    """Read the number of the last entry of each log, in parallel."""
    state, _ = await state_of(engine)

    async def end(shard: int) -> int:
        told = await last_told(engine, shard, state.run)
        return await find_end(engine, shard, 0 if told is None else told.facts.entry)

    return await asyncio.gather(*map(end, range(terms.shards)))


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


def _remove_older(folder: Path, store: Path) -> None:
    """Remove stores of other moments and of earlier crawls, with their side files and pages."""
    for other in folder.glob("*.db"):
        if other != store:
            with unread(other) as is_unread:
                if is_unread:
                    _remove(other)
    crawls = {other.name.partition("-")[0] for other in folder.glob("*.db")}
    for pages in folder.glob(f"*{_JOINED}"):
        if pages.name.removesuffix(_JOINED) not in crawls:
            shutil.rmtree(pages, ignore_errors=True)


def _remove(store: Path) -> None:
    for file in (*files_of(store), store.with_name(f"{store.name}{LOCK}"), mark_of(store)):
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file, ignore_errors=True)
        else:
            file.unlink(missing_ok=True)


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
    """Protect a store, which need not exist yet, from removal until exit."""
    # The lock is on a file beside the store: SQLite's locks do not keep a file from being removed.
    path = mark_of(store)
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        mark = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(mark, fcntl.LOCK_SH)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(mark), path.stat()):
                break
        os.close(mark)  # the store was removed while we waited
    try:
        yield
    finally:
        os.close(mark)


@contextmanager
def unread(store: Path) -> Iterator[bool]:
    """Yield True if nobody reads the store; then new readers wait until exit."""
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
