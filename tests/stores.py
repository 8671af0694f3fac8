"""Stores without a crawl: a test calls a method for each event, and has a store of them."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from minicrawl import State
from minicrawl.frontier.checkpoints import cut_checkpoint
from minicrawl.frontier.importance import gathered
from minicrawl.frontier.loading import load_frontier
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.store import step_log, tables
from minicrawl.store.records import (
    CHANGED,
    Batch,
    DocumentRow,
    FetchRow,
    StepRow,
    StoreTerms,
    UrlRow,
)
from minicrawl.store.writer import StoreWriter

NOON = 1_800_000_000.0
"""2027-01-15 08:00:00 UTC: start of a crawl by hand, in which each request takes a second."""


class HandCrawl:
    """Crawl by hand. An event is in memory at once, and in the store after `commit`."""

    def __init__(self, path: Path, terms: StoreTerms | None = None) -> None:
        self.path = path
        self.terms = terms or StoreTerms()
        self.store = StoreWriter.open(path)
        self.store.agree(self.terms)
        self.batch = Batch()
        self._spendings: dict[int, Spending] = {}
        self._new: dict[int, str] = {}  # URLs on their way to the store
        spent_by = partial(tables.spent_by, self.store.connection)
        self.frontier = Frontier(self.terms, self._spending_at, self._urls_of, spent_by)
        self.now = NOON

    def _spending_at(self, seq: int) -> Spending:
        return self._spendings.get(seq) or step_log.spending(self.store.connection, seq)

    def _urls_of(self, pages: Sequence[int]) -> dict[int, str]:
        kept = [page for page in pages if page not in self._new]
        new = {page: self._new[page] for page in pages if page in self._new}
        return urls_of(self.store.connection, kept) | new

    def seeds(self, urls: Iterable[str], endowment: int = 0) -> list[int]:
        """Add pages that no page links to, and share an endowment among them."""
        pages, born = self.meet_urls(urls, depth=0)
        self.take_step(Step(StepKind.BORN, born=born))
        if endowment:
            self.take_step(Step(StepKind.ENDOWED, spending=Spending(pages), amount=endowment))
            endowed = tables.endowed(self.batch.counters)
            self.batch.counters[tables.ENDOWED] = [*endowed, self.frontier.last_seq]
        return pages

    def presume(self, urls: Iterable[str], atoms: int) -> None:
        """Credit newborn pages with a history."""
        spending = Spending([self.page(url) for url in urls])
        self.take_step(Step(StepKind.PRESUME, spending=spending, amount=atoms), State.UNREAD)

    def read(
        self,
        url: str,
        links: Iterable[str] = (),
        *,
        weights: Sequence[int] = (),
        focus: Sequence[int] = (),
        title: str = "",
        noindex: bool = False,
    ) -> int:
        """Read a page. Weights and focus belong to the links in the order of their ids."""
        page = self.page(url)
        targets, born = self.meet_urls(links, self.frontier.urls.depth[page] + 1)
        ends = sorted(set(targets) - {page})
        spending = Spending(ends, weights, focus, self_link=page in targets)
        self.take_step(Step(StepKind.VISIT, page, born, spending), State.FETCHED)
        self._fetched(page, "page", 200)
        self.batch.documents.append(
            DocumentRow(page, title, 200, None, None, page, noindex, self.now, self.now, 1, 0)
        )
        return page

    def read_again(self, url: str, *, has_changed: bool) -> int:
        """Read a page once more."""
        page = self.page(url)
        self.replay([page])
        self._fetched(page, "page", 200, CHANGED if has_changed else "")
        return page

    def moved(
        self,
        url: str,
        target: str,
        state: State = State.MOVED,
        amount: int = 0,
        links: Sequence[str] = (),
    ) -> int:
        """Let a page stand for another one; a duplicate has links."""
        page = self.page(url)
        found, born = self.meet_urls([target, *links], self.frontier.urls.depth[page])
        unpaid, own = sorted({*found[1:]} - {page}), page in found[1:]
        spending = Spending([found[0]], self_link=own, unpaid=unpaid)
        self.take_step(Step(StepKind.FORWARD, page, born, spending, amount), state)
        self._fetched(page, "moved", 301)
        return page

    def ended(self, url: str, state: State, detail: str = "") -> int:
        """Close a page that was refused or that failed."""
        page = self.page(url)
        self.take_step(Step(StepKind.DEAD_END, page), state)
        self._fetched(page, state.outcome, None, detail)
        return page

    def replay(self, pages: Sequence[int]) -> None:
        """Spend the cash of pages once more."""
        self.take_step(Step(StepKind.REPLAY, spending=Spending(sorted(pages))))

    def reopen(self, pages: Sequence[int]) -> None:
        """Make read pages wait for another turn."""
        self.take_step(Step(StepKind.REOPEN, spending=Spending(sorted(pages))))

    def page(self, url: str) -> int:
        """Return the id of a known page."""
        page = self.frontier.urls.find(url)
        assert page is not None, url
        return page

    def commit(self) -> None:
        """Write all events to the store."""
        gathering = {tables.GATHERED: gathered(self.frontier)}
        self.batch.counters |= self.frontier.tally() | gathering
        self.store.commit(self.batch)
        self.batch = Batch(counters=self.batch.counters)
        self._new.clear()
        self._spendings.clear()

    def checkpoint(self) -> None:
        """Commit, and write the changed rows of the frontier."""
        self.commit()
        forget_links = not self.terms.links
        self.store.checkpoint(cut_checkpoint(self.frontier), forget_links=forget_links)

    def close(self) -> None:
        """Commit and close the store."""
        self.commit()
        self.store.close()

    def loaded(self, *, index: bool = True) -> Frontier:
        """Load the frontier from the store, as a resumed crawl does."""
        connection = self.store.connection
        return load_frontier(
            connection,
            self.terms,
            partial(step_log.spending, connection),
            partial(urls_of, connection) if index else None,
        )

    def meet_urls(self, urls: Iterable[str], depth: int) -> tuple[list[int], int]:
        meeting = self.frontier.urls.meet(list(urls), depth)
        new: list[UrlRow] = meeting.urls
        self.batch.urls += new
        origins = self.frontier.urls.origins
        self._new |= {row.id: origins[row.host] + row.path for row in new}
        self.batch.hosts += meeting.hosts
        return meeting.pages, len(new)

    def take_step(self, step: Step, state: int = 0) -> None:
        row = StepRow(self.frontier.last_seq + 1, state, step)
        self._spendings[row.seq] = step.spending
        self.frontier.apply(row)
        self.batch.steps.append(row)

    def _fetched(self, page: int, outcome: str, status: int | None, detail: str = "") -> None:
        self.now += 1
        self.batch.fetches.append(FetchRow(page, self.now, outcome, status, 1000, 0.1, detail))


A, B, C = "http://a.example/", "http://b.example/", "http://c.example/x"
MOVED, GONE, DEEP = "http://a.example/old", "http://b.example/gone", "http://a.example/deep"


def urls_of(connection: tables.Connection, pages: Sequence[int]) -> dict[int, str]:
    """Return the URLs of pages in the store."""
    return {page: tables.url_of(connection, page) for page in pages}


def read_later(path: Path, page: str, links: Sequence[str]) -> None:
    """Let the crawl of a store go on, and read a page with these links."""
    with closing(HandCrawl(path)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.read(page, links)


def filled_store(path: Path, terms: StoreTerms | None = None, *, checkpoint: bool = True) -> Path:
    """Make a store of two read pages that link to each other, a redirect, a failure, two unread."""
    with closing(HandCrawl(path, terms)) as crawl:
        crawl.seeds([A, B], endowment=10)
        crawl.read(A, [B, MOVED, DEEP], title="The first")
        crawl.read(B, [A, C, GONE], title="The second", noindex=True)
        crawl.moved(MOVED, A)
        if checkpoint:
            crawl.checkpoint()
        crawl.ended(GONE, State.NOT_FOUND, "404")
        crawl.batch.counters |= {"fetched": 2, "requests": 4, "wire_bytes": 4000, "running_s": 2.0}
    return path
