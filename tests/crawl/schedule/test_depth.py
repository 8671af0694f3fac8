from pathlib import Path

import pytest

from minicrawl.crawl.schedule.orders import DepthTracker
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import State
from minicrawl.opic.ledger import Spending, Step, StepKind
from minicrawl.store.records import StepRow, StoreTerms
from tests.crawl.fakes import crawl, frontier_of, html, moved, web_of

A = "http://a.example"
SEED, FAR, FARTHER, LAST = range(4)


class Known:
    """A frontier by hand. Page n becomes known at depth `depths[n]`."""

    def __init__(self, *depths: int) -> None:
        self._spendings: dict[int, Spending] = {}
        self.frontier = Frontier(StoreTerms(), self._spendings.__getitem__)
        for page, depth in enumerate(depths):
            self.frontier.urls.meet([f"{A}/{page}"], depth)
        self._take(Step(StepKind.BORN, born=len(depths)), State.UNREAD)

    def read(self, page: int, *links: int) -> None:
        self._take(Step(StepKind.VISIT, page, spending=Spending(links)), State.FETCHED)

    def stands_for(self, page: int, other: int, state: State) -> None:
        self._take(Step(StepKind.FORWARD, page, spending=Spending((other,))), state)

    def _take(self, step: Step, state: State) -> None:
        seq = self.frontier.last_seq + 1
        self._spendings[seq] = step.spending
        self.frontier.apply(StepRow(seq, state, step))


def test_a_shorter_path_found_by_another_shard_counts() -> None:
    known = Known(0, 3, 4, 1)
    known.read(FAR, FARTHER)
    depths = DepthTracker(known.frontier, 2)
    depths.brought_nearer = set()
    depths.park(FARTHER)
    assert depths.begin_at(FAR, 3) == depths.begin_at(SEED, 2) == []
    assert depths.begin_at(FAR, 1) == [FARTHER]
    assert list(known.frontier.urls.depth) == [0, 1, 2, 1]
    assert depths.brought_nearer == {FARTHER}


def test_a_parked_page_is_released_by_a_shorter_path() -> None:
    known = Known(0, 3)
    depths = DepthTracker(known.frontier, 2)
    depths.park(FAR)
    known.read(SEED, FAR)
    assert depths.shorten(SEED, Spending([FAR])) == [FAR]
    assert known.frontier.urls.depth[FAR] == 1
    assert depths.shorten(SEED, Spending([FAR])) == []
    assert depths.give_up() == []


@pytest.mark.parametrize("state", [State.MOVED, State.CANONICAL, State.ALIAS])
def test_a_page_is_as_deep_as_the_page_that_stands_for_it(state: State) -> None:
    known = Known(1, 5)
    depths = DepthTracker(known.frontier, 1)
    depths.park(FAR)
    known.stands_for(SEED, FAR, state)
    assert depths.shorten(SEED, Spending([FAR])) == [FAR]
    assert known.frontier.urls.depth[FAR] == 1


def test_give_up_returns_all_parked_pages() -> None:
    depths = DepthTracker(Known(0, 9, 9).frontier, 2)
    for page in (FARTHER, FAR):
        depths.park(page)
    assert depths.give_up() == [FAR, FARTHER]
    assert depths.give_up() == []


def test_depths_do_not_grow_beyond_255() -> None:
    known = Known(255, 255)
    depths = DepthTracker(known.frontier, 1)
    known.read(SEED, FAR)
    assert depths.shorten(SEED, Spending([FAR])) == []
    assert known.frontier.urls.depth[FAR] == 255


def test_shorter_paths_are_found_from_the_links_of_earlier_runs() -> None:
    known = Known(0, 9, 9)
    known.read(SEED, FAR)
    known.read(FAR, FARTHER)
    assert not DepthTracker(known.frontier, 2).is_too_far(FARTHER)


def test_a_resumed_crawl_knows_the_shorter_paths(tmp_path: Path) -> None:
    web = web_of({f"{A}/{n}": [f"/{n + 1}"] for n in range(1, 6)}) | {
        f"{A}/0": html("/1", "/short", title="0"),
        f"{A}/short": moved("/3"),
    }
    path, limit = tmp_path / "crawl.db", 3
    for pages in range(1, 9):
        crawl(web, path, f"{A}/0", max_depth=limit, pages=pages)
    run = crawl(web, path, f"{A}/0", max_depth=limit)
    assert run.states[f"{A}/5"] is State.FETCHED
    assert run.states[f"{A}/6"] is State.DEPTH
    assert len(frontier_of(path)) == 8
