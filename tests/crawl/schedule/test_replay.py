from typing import cast

from minicrawl.crawl.settle.settler import AT_ONCE, GROWN, ReplayScheduler, StepPoster
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import State
from minicrawl.opic.ledger import Plan, Spending, Step, StepKind
from minicrawl.opic.money import UNIT
from minicrawl.store.records import StepRow, StoreTerms


class Books:
    """A frontier of read pages that hold these units of cash and link to page 0."""

    def __init__(self, *units: int, per_fetch: int = 1) -> None:
        self.frontier = Frontier(StoreTerms(), lambda _: Spending((0,)))
        self.replays = ReplayScheduler(self.frontier, per_fetch)
        self._take(Step(StepKind.BORN, born=len(units)))
        for page in range(len(units)):
            self._take(Step(StepKind.VISIT, page, spending=Spending((0,) if page else ())))
        for page, amount in enumerate(units):
            self._take(Step(StepKind.ENDOWED, spending=Spending((page,)), amount=amount))
        self.replays.saw([Plan(0, 0, range(len(units)), 0, (), 0)])
        self.replayed: list[int] = []

    def _take(self, step: Step) -> list[Plan]:
        return self.frontier.apply(StepRow(self.frontier.last_seq + 1, State.FETCHED, step))

    def replay(self, pages: list[int]) -> None:
        """Apply a replay, as the poster does."""
        self.replayed += pages
        self.replays.saw(self._take(Step(StepKind.REPLAY, spending=Spending(pages))))

    def run(self) -> list[int]:
        before = len(self.replayed)
        self.replays.run(cast("StepPoster", self))
        return self.replayed[before:]


def test_a_fetch_allows_per_fetch_replays_of_the_richest_pages() -> None:
    books = Books(0, 10, 40, 30, 20, per_fetch=2)
    books.replays.allowed += books.replays.per_fetch
    assert books.run() == [2, 3]
    assert books.run() == []
    books.replays.allowed += books.replays.per_fetch
    assert sorted(books.run()) == [0, 4]


def test_pages_are_replayed_only_once_they_hold_enough_cash() -> None:
    books = Books(0, GROWN // UNIT - 3)
    for _ in range(5):
        books.replays.allowed += books.replays.per_fetch
    assert books.run() == []
    books._take(Step(StepKind.ENDOWED, spending=Spending((1,)), amount=10))
    books.replays.saw([Plan(0, 0, [1], 0, (), 0)])
    assert books.run() == [1]


def test_unused_replays_may_be_used_later_but_not_all_at_once() -> None:
    books = Books(*([0] + [100] * (2 * AT_ONCE)))
    for _ in range(2 * AT_ONCE):
        books.replays.allowed += books.replays.per_fetch
    assert len(books.run()) == AT_ONCE
    assert len(books.run()) == AT_ONCE
    assert books.run() == []
