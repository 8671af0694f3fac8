"""A crawl by hand: a test says what happened, step by step, and has a store of it."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from minicrawl.frontier.checkpoint import cut_checkpoint, load_frontier
from minicrawl.frontier.importance import gathered
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import State
from minicrawl.opic.ledger import Spending, Step, StepKind
from minicrawl.store import tables
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
"""2027-01-15 08:00:00 UTC, when the first page of a crawl by hand is read; a second a page."""


class HandCrawl:
    """What happens is in memory at once, and in the store after `commit`."""

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
        return self._spendings.get(seq) or tables.spending(self.store.connection, seq)

    def _urls_of(self, pages: Sequence[int]) -> dict[int, str]:
        kept = [page for page in pages if page not in self._new]
        new = {page: self._new[page] for page in pages if page in self._new}
        return urls_of(self.store.connection, kept) | new

    def seeds(self, urls: Iterable[str], endowment: int = 0) -> list[int]:
        """These become known by nobody's link."""
        pages, born = self._meet(urls, depth=0)
        self._do(Step(StepKind.BORN, born=born))
        if endowment:
            self._do(Step(StepKind.ENDOWED, spending=Spending(pages), amount=endowment))
            endowed = tables.endowed(self.batch.counters)
            self.batch.counters[tables.ENDOWED] = [*endowed, self.frontier.last_seq]
        return pages

    def presume(self, urls: Iterable[str], atoms: int) -> None:
        """These, which were just born, count as having a history."""
        spending = Spending([self.page(url) for url in urls])
        self._do(Step(StepKind.PRESUME, spending=spending, amount=atoms), State.UNREAD)

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
        """The page was read; Weights and focus go with the links in the order of their ids."""
        page = self.page(url)
        targets, born = self._meet(links, self.frontier.urls.depth[page] + 1)
        ends = sorted(set(targets) - {page})
        spending = Spending(ends, weights, focus, self_link=page in targets)
        self._do(Step(StepKind.VISIT, page, born, spending), State.FETCHED)
        self._fetched(page, "page", 200)
        self.batch.documents.append(
            DocumentRow(page, title, 200, None, None, page, noindex, self.now, self.now, 1, 0)
        )
        return page

    def read_again(self, url: str, *, has_changed: bool) -> int:
        """The page was asked for once more, and came."""
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
        """The page stands for another one; a duplicate has links."""
        page = self.page(url)
        found, born = self._meet([target, *links], self.frontier.urls.depth[page])
        unpaid, own = sorted({*found[1:]} - {page}), page in found[1:]
        spending = Spending([found[0]], self_link=own, unpaid=unpaid)
        self._do(Step(StepKind.FORWARD, page, born, spending, amount), state)
        self._fetched(page, "moved", 301)
        return page

    def ended(self, url: str, state: State, detail: str = "") -> int:
        """The page was refused, or asked for in vain."""
        page = self.page(url)
        self._do(Step(StepKind.DEAD_END, page), state)
        self._fetched(page, state.outcome, None, detail)
        return page

    def replay(self, pages: Sequence[int]) -> None:
        """These pages spend once more."""
        self._do(Step(StepKind.REPLAY, spending=Spending(sorted(pages))))

    def reopen(self, pages: Sequence[int]) -> None:
        """These pages wait again."""
        self._do(Step(StepKind.REOPEN, spending=Spending(sorted(pages))))

    def page(self, url: str) -> int:
        """The id of a page that is known."""
        page = self.frontier.urls.find(url)
        assert page is not None, url
        return page

    def commit(self) -> None:
        """All that happened goes into the store."""
        gathering = {tables.GATHERED: gathered(self.frontier)}
        self.batch.counters |= self.frontier.tally() | gathering
        self.store.commit(self.batch)
        self.batch = Batch(counters=self.batch.counters)
        self._new.clear()
        self._spendings.clear()

    def checkpoint(self) -> None:
        """The same, and the rows that changed."""
        self.commit()
        forget_links = not self.terms.links
        self.store.checkpoint(cut_checkpoint(self.frontier), forget_links=forget_links)

    def close(self) -> None:
        """Commit, and let go of the store."""
        self.commit()
        self.store.close()

    def loaded(self, *, index: bool = True) -> Frontier:
        """What a crawl would go on with."""
        connection = self.store.connection
        return load_frontier(
            connection,
            self.terms,
            partial(tables.spending, connection),
            partial(urls_of, connection) if index else None,
        )

    def _meet(self, urls: Iterable[str], depth: int) -> tuple[list[int], int]:
        meeting = self.frontier.urls.meet(list(urls), depth)
        new: list[UrlRow] = meeting.urls
        self.batch.urls += new
        origins = self.frontier.urls.origins
        self._new |= {row.id: origins[row.host] + row.path for row in new}
        self.batch.hosts += meeting.hosts
        return meeting.pages, len(new)

    def _do(self, step: Step, state: int = 0) -> None:
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
    """The URLs of pages in the store."""
    return {page: tables.url_of(connection, page) for page in pages}


def filled_store(path: Path, terms: StoreTerms | None = None, *, checkpoint: bool = True) -> Path:
    """Two pages read that link to each other and on, a redirect, a failure, two that wait."""
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
