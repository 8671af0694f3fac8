"""Time and memory of an audit of a large site, with all checks.

`python -m tests.bench.audit` makes a store like that of a crawl of ten hosts: nearly all pages were
read, each has 30 links, one in fifty is a redirect or missing, one in five has language versions,
and sitemaps list most of them. The store already has the facts that the first audit after a crawl
notes. The cost of noting is measured on a small store.
"""

import statistics
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import key_of
from minicrawl.archive.segments import FIRST
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.audit.facts.noted_facts import packed
from minicrawl.audit.facts.page_facts import LAYOUT, VERSION, UrlReference, facts_of
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import Totals
from minicrawl.opic.ledger.money import UNIT
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.derived.facts import FactsRow, FactsUntil, ListedRow, keep_facts
from minicrawl.store.reader import archive_folder, reading
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
from tests.archive.archives import kept
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.processes import Cost, Load, run_whole

LINKS = 30
HOSTS = 10
KEPT = 5_000
"""Number of pages in the archive. The facts of all others have been noted."""
LIMIT_S, LIMIT_MB = 60, 300

_AT_ONCE = 20_000
_DIVIDEND = UNIT // 50
_BEGAN_AT = 1_700_000_000.0
_ODD = {1: State.MOVED, 2: State.NOT_FOUND, 3: State.CANONICAL}
"""States of some pages by their number modulo 100. All others were read."""
_LANGUAGES = 3


def url(page: int) -> str:
    """Return the URL of a page; some have parameters, capital letters or non-ASCII letters."""
    return _origin(page) + _path(page)


def _origin(page: int) -> str:
    return f"https://host{page % HOSTS}.example"


def _path(page: int) -> str:
    odd = {5: f"?sort=up&page={page % 9}", 6: "/Over-View", 7: "/caf%C3%A9"}.get(page % 100, "")
    return f"/section-{page % 97}/topic-{page // 1000}/article-number-{page}{odd}"


def _state(page: int) -> State:
    return _ODD.get(page % 100, State.FETCHED)


def _markup(page: int) -> str:
    words = " ".join(f"word{page * place % 9973}" for place in range(40))
    links = "".join(f'<li><a href="{_path(page + place)}">to {place}</a>' for place in range(LINKS))
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Article {page}</title>"
        f'<meta name=description content="What there is to say about article {page}">'
        f"<link rel=canonical href='{url(page)}'></head><body><h1>Article {page}</h1>"
        + f"<div class=text><p>{words}</p><img src=a.png alt=a></div>" * 20
        + f"<ul>{links}</ul></body></html>"
    )


class _LargeSite:
    """Synthetic site, in blocks of pages."""

    def __init__(self, pages: int) -> None:
        self._pages, self._random = pages, np.random.default_rng(7)
        self._keys = self._turns = 0

    def blocks(self) -> Iterator[tuple[Batch, Checkpoint]]:
        """Yield a batch and a checkpoint for each block."""
        seeds = Spending(range(HOSTS))
        steps = [
            StepRow(1, 0, Step(StepKind.BORN, born=HOSTS)),
            StepRow(2, 0, Step(StepKind.ENDOWED, spending=seeds, amount=HOSTS)),
        ]
        hosts = [HostRow(host, _origin(host)) for host in range(HOSTS)]
        states: dict[str, int] = {}
        for first in range(0, self._pages, _AT_ONCE):
            pages = range(first, min(first + _AT_ONCE, self._pages))
            batch = Batch(hosts=hosts, steps=steps)
            rows = [self._add(page, pages.stop, batch) for page in pages]
            hosts, steps = [], []
            for page in pages:
                name = str(int(_state(page)))
                states[name] = states.get(name, 0) + 1
            seq = 2 + self._turns
            batch.counters = {
                "endowed": [2],
                "fetched": self._turns,
                tables.STATES: dict(states),
                tables.RECORDED: self._pages * UNIT,
                tables.STEPS: seq,
                tables.FETCHES: self._turns,
                tables.ARCHIVE_END: FIRST,
            }
            minted = (pages.stop + HOSTS) * UNIT
            pot = minted - self._keys - _DIVIDEND * self._turns
            totals = Totals(minted, self._pages * UNIT, _DIVIDEND, 0, pot, 0, -1)
            yield batch, Checkpoint(watermark=seq, totals=totals, born=rows, turned=(), paid=())

    def _add(self, page: int, known: int, batch: Batch) -> FrontierRow:
        seq, state = 3 + self._turns, _state(page)
        self._turns += 1
        at = _BEGAN_AT + self._turns
        born = known - max(page, HOSTS) if page % _AT_ONCE == 0 else 0
        if state is State.FETCHED:
            links = (known * self._random.random(LINKS) ** 2).astype(np.int64).tolist()
            step = Step(StepKind.VISIT, page, born, Spending(sorted({*links} - {page})))
            batch.documents.append(
                DocumentRow(page, f"Article {page}", 200, None, None, page, False, at, at, 1, 0)
            )
        elif state is State.NOT_FOUND:
            step = Step(StepKind.DEAD_END, page, born)
        else:
            step = Step(StepKind.FORWARD, page, born, Spending([max(page - 50, 0)]))
            if state is State.CANONICAL:
                batch.documents.append(
                    DocumentRow(page, f"Article {page}", 200, None, None, page, False, at, at, 1, 0)
                )
        status = 301 if state is State.MOVED else 404 if state is State.NOT_FOUND else 200
        outcome = "page" if status == 200 else state.outcome
        batch.urls.append(UrlRow(page, page % HOSTS, _path(page), 1 + page // 200_000))
        batch.steps.append(StepRow(seq, state, step))
        batch.fetches.append(FetchRow(page, at, outcome, status, 20_000, 0.1, "", 0.05))
        key = int(self._random.exponential(0.2) * UNIT) - _DIVIDEND
        self._keys += key
        time_of = page * (UNIT >> 16)
        spent = 0 if state is State.NOT_FOUND else seq
        return FrontierRow(page, state, key, UNIT + key, time_of, 3, spent)


def make(path: Path, pages: int) -> None:
    """Write a store of `pages` pages, with the facts of most and an archive of the others."""
    with closing(StoreWriter.open(path)) as store:
        store.agree(StoreTerms())
        for batch, checkpoint in _LargeSite(pages).blocks():
            store.commit(batch)
            store.checkpoint(checkpoint)
        folder = archive_folder(path)
        with closing(ArchiveWriter(folder, FIRST)) as archive:
            end = archive.append(kept(url(page), _markup(page).encode()) for page in _kept(pages))
            archive.confirm()
        with closing(ArchiveReader(folder, end)) as reader:
            name = reader.identity()
        store.commit(Batch(counters={**tables.counters(store.connection), tables.ARCHIVE_END: end}))
    with reading(path) as connection:
        for first in range(0, pages, _AT_ONCE):
            some = range(first, min(first + _AT_ONCE, pages))
            listed = {
                first: [ListedRow(first, key_of(url(page)), "2024-01-01") for page in some]
                if first % (10 * _AT_ONCE)
                else []
            }
            keep_facts(path, connection, FactsUntil(VERSION, name, FIRST), _facts(some), listed)


def _kept(pages: int) -> list[int]:
    return [page for page in range(min(KEPT, pages)) if _state(page) is State.FETCHED]


def _facts(pages: range) -> Iterator[FactsRow]:
    read = [page for page in pages if _state(page) in (State.FETCHED, State.CANONICAL)]
    like = facts_of(_markup(1), url(1), {"content-encoding": "gzip"}, 30_000)[0]
    numbers: NDArray[np.void] = np.frombuffer(like * len(read), LAYOUT).copy()
    random = np.random.default_rng(pages.start)
    for name in ("title", "description", "h1", "text"):
        # One text in fifty is that of another page.
        numbers[name] = random.integers(1, 50 * len(read), len(read))
    numbers["words"] = random.integers(5, 900, len(read))
    for page, one in zip(read, numbers, strict=True):
        yield FactsRow(page, one.tobytes(), packed(_references(page)))


def _references(page: int) -> list[UrlReference]:
    if _state(page) is State.CANONICAL:
        return [UrlReference("canonical", url(page - 50))]
    if page % 5:
        return []
    return [UrlReference("alternate", url(page + 5 * place)) for place in range(_LANGUAGES)]


def _audited(store: Path) -> Cost:
    command = (sys.executable, "-m", "minicrawl", "audit", "--store", str(store))
    return run_whole(command, store.parent)


def _noting_ms(folder: Path) -> float:
    """Return the cost of noting a page: the difference between a first and a second audit."""
    store = folder / "small.db"
    make(store, KEPT)
    first, second = _audited(store), _audited(store)
    return 1000 * (first.cpu_s - second.cpu_s) / len(_kept(KEPT))


@click.command()
@click.option("--pages", default="1e6", show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--store", type=click.Path(path_type=Path), help="Use this store, or make it.")
@into_document
def main(pages: str, rounds: int, store: Path | None, into: Path | None) -> None:
    number = int(float(pages))
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        path = store or Path(name, "crawl.db")
        if not path.exists():
            make(path, number)
            _audited(path)
        load = Load()
        costs = [_audited(path) for _ in range(rounds)]
        others = load.of_others(sum(one.cpu_s for one in costs))
        noting_ms = _noting_ms(Path(name))
    cpu_s = statistics.median(one.cpu_s for one in costs)
    peak_mb = max(one.peak_bytes for one in costs) / 1e6
    lines = [
        f"{circumstances()} Others used {others} cores meanwhile.",
        "",
        *head("audit of", "CPU s", "at most", "s", "peak MB", "at most"),
        row(
            f"{number:,} pages, {LINKS} links each",
            f"{cpu_s:.1f}",
            f"{LIMIT_S}",
            f"{statistics.median(one.wall_s for one in costs):.1f}",
            f"{peak_mb:,.0f}",
            f"{LIMIT_MB}",
        ),
        "",
        f"Median of {rounds}. The first audit after a crawl also notes the facts of the pages that "
        f"were kept since the last one: {noting_ms:.2f} ms of CPU for each, once.",
    ]
    tell(lines, "audit", into)


if __name__ == "__main__":
    main()
