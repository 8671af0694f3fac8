"""Stores whose ranks tests refine."""

from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

from minicrawl.frontier.checkpoints import cut_checkpoint
from minicrawl.frontier.loading import load_frontier
from minicrawl.frontier.page_table import Frontier
from minicrawl.frontier.url_index import UrlsOf
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.states import State
from minicrawl.store import step_log, tables
from minicrawl.store.reader import reading
from minicrawl.store.records import Batch, StepRow, StoreTerms
from minicrawl.store.writer import StoreWriter
from tests.stores import urls_of

DEFAULT = StoreTerms()


def load(connection: tables.Connection, urls: UrlsOf | None = None) -> Frontier:
    terms = tables.terms(connection)
    assert terms is not None
    return load_frontier(connection, terms, partial(step_log.spending, connection), urls)


def frontier_of(path: Path) -> Frontier:
    with reading(path) as connection:
        return load(connection)


def take(store: StoreWriter, *steps: tuple[Step, State]) -> None:
    """Continue the crawl of a store by these steps; new pages get arbitrary URLs."""
    frontier = load(store.connection, partial(urls_of, store.connection))
    for step, state in steps:
        pages = range(len(frontier), len(frontier) + step.born)
        meeting = frontier.urls.meet([f"http://{page % 7}.example/{page}" for page in pages], 0)
        row = StepRow(frontier.last_seq + 1, state, step)
        store.commit(Batch(urls=meeting.urls, hosts=meeting.hosts, steps=[row]))
        frontier.apply(row)
    assert frontier.ledger.missing() == 0
    store.checkpoint(cut_checkpoint(frontier))


def a_store(path: Path, terms: StoreTerms = DEFAULT, *, fetched: int = 60) -> Path:
    """Make a store of 80 pages: read, moved, failed and unread ones. Some are replayed once."""
    rng = Random(1)
    steps = [
        (Step(StepKind.BORN, born=80), State.UNREAD),
        (Step(StepKind.ENDOWED, spending=Spending((0, 1, 2)), amount=50), State.UNREAD),
    ]
    for page in range(fetched):
        links = sorted({int(80 * rng.random() ** 2) for _ in range(rng.randrange(9))} - {page})
        match page % 6:
            case 3:
                steps.append(
                    (Step(StepKind.FORWARD, page, spending=Spending((page + 1,))), State.MOVED)
                )
            case 4:
                steps.append((Step(StepKind.DEAD_END, page), State.DNS))
            case _:
                steps.append((Step(StepKind.VISIT, page, spending=Spending(links)), State.FETCHED))
    if fetched:
        steps.append((Step(StepKind.REPLAY, spending=Spending((0, 3, 5))), State.UNREAD))
    with closing(StoreWriter.open(path)) as store:
        store.agree(terms)
        take(store, *steps)
    return path
