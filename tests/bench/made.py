"""Synthetic store like that of a crawl of the endless web, made in minutes instead of hours.

One page in ten was read, most of them old, each with `LINKS` links. Hosts have from some hundred
to some hundred thousand pages. Most links of a page lead to its host, so URLs that are looked up
together are stored together. Cash and histories are random. Their sums are right, but they do not
follow from the steps, so `check` reports faults.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import Totals
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.window import TICK_BITS
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.records import (
    Batch,
    Checkpoint,
    DocumentRow,
    FetchRow,
    FrontierRow,
    HostRow,
    StepRow,
    StoreTerms,
    UrlRow,
)
from minicrawl.store.writer import StoreWriter
from tests.bench.endless import FAR, LINKS, NEW, path_of

Numbers = NDArray[np.int64]

_BORN_TOGETHER = NEW + FAR
_AT_ONCE = 10_000 * _BORN_TOGETHER
_READ = 0.1
_DIVIDEND = UNIT // 50
_GIFTS = 0.08  # mean units of cash of a page; the rest is in the pot
_BEGAN_AT = 3600.0


class Made:
    """Synthetic store, in blocks of pages."""

    def __init__(self, pages: int, origins: Sequence[str], seeds: int) -> None:
        self._pages, self._hosts, self._seeds = pages, len(origins), seeds
        self._origins = origins
        self._random = np.random.default_rng(0)
        self._known_of = np.zeros(self._hosts, dtype=np.int64)
        self._reads, self._keys = 0, 0
        self._now = int(pages * _READ * UNIT) >> TICK_BITS

    def blocks(self) -> Iterator[tuple[Batch, Checkpoint]]:
        """Yield a batch and a checkpoint for each block."""
        hosts = [HostRow(host, at) for host, at in enumerate(self._origins)]
        for first in range(0, self._pages, _AT_ONCE):
            pages = np.arange(first, min(first + _AT_ONCE, self._pages))
            batch = Batch(hosts=hosts, urls=list(self._urls(pages)))
            hosts = []
            read = pages[self._random.random(len(pages)) < 2 * _READ * (1 - pages / self._pages)]
            rows = list(self._rows(pages, read))
            self._read(read, batch)
            self._reads += len(read)
            known, seq = int(pages[-1]) + 1, 2 + self._reads
            states = {int(State.UNREAD): known - self._reads, int(State.FETCHED): self._reads}
            batch.counters = {
                "endowed": [2],
                "fetched": self._reads,
                tables.STATES: {str(state): count for state, count in states.items()},
                tables.RECORDED: self._now << TICK_BITS,
                tables.STEPS: seq,
                tables.FETCHES: self._reads,
            }
            totals = self._totals(known)
            yield batch, Checkpoint(watermark=seq, totals=totals, born=rows, turned=(), paid=())

    def _urls(self, pages: Numbers) -> Iterator[UrlRow]:
        hosts = (self._hosts * self._random.random(len(pages)) ** 2).astype(np.int64)
        places = pages % _BORN_TOGETHER
        near = places < NEW
        hosts[near] = hosts[np.arange(len(pages)) - places][near]
        seeds = pages < self._seeds
        hosts[seeds] = pages[seeds]
        order = np.argsort(hosts, kind="stable")
        found, firsts, counts = np.unique(hosts[order], return_index=True, return_counts=True)
        numbers = np.empty(len(pages), dtype=np.int64)
        numbers[order] = np.arange(len(pages)) + np.repeat(self._known_of[found] - firsts, counts)
        self._known_of[found] += counts
        depths = 1 + np.log2(1 + pages // self._seeds).astype(np.int64)
        columns = (pages, hosts, numbers, depths)
        for page, host, number, depth in zip(*map(np.ndarray.tolist, columns), strict=True):
            yield UrlRow(page, host, path_of(number), depth)

    def _rows(self, pages: Numbers, read: Numbers) -> Iterator[FrontierRow]:
        """Return the rows of a checkpoint. Read pages have a history, others their first unit."""
        count, now = len(pages), self._now
        is_read = np.isin(pages, read, assume_unique=True)
        gifts = (self._random.exponential(_GIFTS, count) * UNIT).astype(np.int64)
        keys = gifts + np.where(is_read, -_DIVIDEND, UNIT)
        self._keys += int(keys.sum())
        histories = np.where(is_read, UNIT + gifts, 0)
        births = pages // _BORN_TOGETHER * (now * _BORN_TOGETHER // self._pages)
        reads = births + ((now - births) * self._random.random(count)).astype(np.int64)
        steps = np.where(is_read, 2 + self._reads + np.cumsum(is_read), 0)
        inlinks = 1 + self._random.geometric(0.2, count)
        states = np.where(is_read, int(State.FETCHED), int(State.UNREAD))
        times = np.where(is_read, reads, births)
        columns = (pages, states, keys, histories, times, inlinks, steps)
        return map(FrontierRow, *map(np.ndarray.tolist, columns))

    def _read(self, read: Numbers, batch: Batch) -> None:
        """Add steps, requests and documents of the read pages to the batch."""
        known = int(read[-1]) + 1 if len(read) else 0
        if not self._reads:
            batch.steps.append(StepRow(1, 0, Step(StepKind.BORN, born=self._seeds)))
            seeds = Spending(range(self._seeds))
            endowed = Step(StepKind.ENDOWED, spending=seeds, amount=self._seeds)
            batch.steps.append(StepRow(2, 0, endowed))
        links = (known * self._random.random((len(read), LINKS)) ** 2).astype(np.int64)
        contents = self._random.integers(-(1 << 63), 1 << 63, len(read)).tolist()
        numbered = enumerate(zip(read.tolist(), links.tolist(), contents, strict=True), self._reads)
        for number, (page, mine, content) in numbered:
            at = _BEGAN_AT + number
            visit = Step(StepKind.VISIT, page, _BORN_TOGETHER, Spending(sorted({*mine} - {page})))
            batch.steps.append(StepRow(3 + number, State.FETCHED, visit))
            batch.fetches.append(FetchRow(page, at, "page", 200, 30_000, 0.1, ""))
            etag = '"5f3c-61a8"'
            batch.documents.append(
                DocumentRow(page, f"Page {page}", 200, etag, None, content, False, at, at, 1, 0)
            )

    def _totals(self, known: int) -> Totals:
        minted = (known + self._seeds) * UNIT
        pot = minted - self._keys - _DIVIDEND * self._reads
        unread = known - self._reads
        return Totals(minted, self._now << TICK_BITS, _DIVIDEND, 0, pot, unread, -1)


def make(
    path: Path, pages: int, origins: Sequence[str], seeds: int, terms: StoreTerms | None = None
) -> None:
    """Write a store of `pages` pages of these hosts."""
    with closing(StoreWriter.open(path)) as store:
        store.agree(terms or StoreTerms())
        for batch, checkpoint in Made(pages, origins, seeds).blocks():
            store.commit(batch)
            store.checkpoint(checkpoint)
        store.compact()
