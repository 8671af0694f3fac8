"""Orders of pages, their depth, their scope and their replays."""

from pathlib import Path
from typing import cast

import pytest

from minicrawl.config import Scope, Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.crawl.schedule.orders import ORDERS, RandomOrder, without_effect
from minicrawl.crawl.settle.posting import GROWN, REPLAYS_AT_ONCE, ReplayScheduler, StepPoster
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import Ledger, Plan
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.ledger.plans import visit
from minicrawl.states import State
from minicrawl.store.records import StepRow, StoreTerms
from tests.crawl.fakes import crawl, frontier_of, html, keeping, moved, web_of


def test_random_keys_are_the_same_however_pages_became_known() -> None:
    at_once, one_by_one = RandomOrder(Ledger()), RandomOrder(Ledger())
    at_once.grow(range(100))
    for page in range(100):
        one_by_one.grow(range(page, page + 1))
    assert at_once.keys == one_by_one.keys
    assert len(set(at_once.keys)) == 100


@pytest.mark.parametrize("strategy", ORDERS)
def test_every_waiting_page_has_one_turn(strategy: str, tmp_path: Path) -> None:
    with keeping(tmp_path / "store.db") as recorder:
        meeting = recorder.meet([f"http://{host}.example/" for host in "abc"], 0)
        recorder.apply_step(Step(StepKind.BORN, born=3))
        queue = ORDERS[strategy](recorder.frontier)
        queue.load()
        pages = [queue.take() for _ in range(3)]
        assert sorted(pages, key=str) == meeting.pages
        assert queue.take() is None
        for page in meeting.pages:
            assert not queue.is_ready(recorder.frontier.urls.host_of[page])
            queue.release(page)
            queue.resume(recorder.frontier.urls.host_of[page])
        keys = {queue.key(page): page for page in meeting.pages}
        assert len(keys) in (1, 3)
        assert queue.take() in meeting.pages


def test_a_page_that_is_endowed_comes_first_by_cash(tmp_path: Path) -> None:
    with keeping(tmp_path / "store.db") as recorder:
        recorder.meet([f"http://a.example/{number}" for number in range(30)], 0)
        recorder.apply_step(Step(StepKind.BORN, born=30))
        queue = ORDERS["greedy"](recorder.frontier)
        queue.load()
        first = queue.take()
        assert first is not None
        queue.release(first)
        queue.resume(0)
        recorder.apply_step(Step(StepKind.ENDOWED, amount=5, spending=Spending((17,))))
        queue.posted((), paid=(17,))
        assert queue.take() == 17


A = "http://a.example"


def test_a_page_of_a_host_that_is_refused_whole_may_be_paid(tmp_path: Path) -> None:
    with keeping(tmp_path / "store.db") as recorder:
        recorder.meet([f"{A}/"], 0)
        recorder.apply_step(Step(StepKind.BORN, born=1))
        queue = ORDERS["greedy"](recorder.frontier)
        queue.load()
        recorder.meet(["http://b.example/"], 1)
        recorder.apply_step(Step(StepKind.BORN, born=1))
        recorder.apply_step(Step(StepKind.REFUSE, spending=Spending((1,))), State.SCOPE)
        assert queue.take() == 0
        queue.posted([visit(recorder.frontier.ledger, 0, (1,))], new=(1,))
        assert not queue.has_pages(1)


@pytest.mark.parametrize(("hosts", "has_effect"), [(4, False), (5, True)])
def test_the_order_by_sites_has_an_effect_once_hosts_wait(hosts: int, has_effect: bool) -> None:
    settings = Settings.of(order_by="site", concurrency=8, per_host=2)
    assert (without_effect(settings, hosts) is None) == has_effect


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

    def refuse(self, page: int) -> None:
        self._take(Step(StepKind.REFUSE, spending=Spending((page,))), State.DEPTH)

    def _take(self, step: Step, state: State) -> None:
        seq = self.frontier.last_seq + 1
        self._spendings[seq] = step.spending
        self.frontier.apply(StepRow(seq, state, step))


def test_a_shorter_path_found_by_another_shard_counts() -> None:
    known = Known(0, 3, 4, 1)
    known.read(FAR, FARTHER)
    depths = DepthTracker(known.frontier, 2)
    depths.brought_nearer = set()
    known.refuse(FARTHER)
    assert depths.begin_at(FAR, 3) == depths.begin_at(SEED, 2) == []
    assert depths.begin_at(FAR, 1) == [FARTHER]
    assert list(known.frontier.urls.depth) == [0, 1, 2, 1]
    assert depths.brought_nearer == {FARTHER}


@pytest.mark.parametrize("state", [State.MOVED, State.CANONICAL, State.ALIAS])
def test_a_page_is_as_deep_as_the_page_that_stands_for_it(state: State) -> None:
    known = Known(1, 5)
    depths = DepthTracker(known.frontier, 1)
    known.refuse(FAR)
    known.stands_for(SEED, FAR, state)
    assert depths.shorten(SEED, Spending([FAR])) == [FAR]
    assert known.frontier.urls.depth[FAR] == 1


def test_links_of_a_page_that_stands_for_another_are_a_step_farther() -> None:
    known = Known(1, 1, 5)
    depths = DepthTracker(known.frontier, 2)
    known.refuse(FARTHER)
    known.stands_for(SEED, FAR, State.CANONICAL)
    assert depths.shorten(SEED, Spending([FAR], unpaid=[FARTHER])) == [FARTHER]
    assert known.frontier.urls.depth[FARTHER] == 2


def test_depths_do_not_grow_beyond_255() -> None:
    known = Known(255, 255)
    depths = DepthTracker(known.frontier, 1)
    known.read(SEED, FAR)
    assert depths.shorten(SEED, Spending([FAR])) == []
    assert known.frontier.urls.depth[FAR] == 255


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


class Books:
    """A frontier of read pages that hold these units of cash and link to page 0."""

    def __init__(self, *units: int, per_fetch: int = 1) -> None:
        self.frontier = Frontier(StoreTerms(), lambda _: Spending((0,)))
        self.replays = ReplayScheduler(self.frontier, per_fetch)
        self.take(Step(StepKind.BORN, born=len(units)))
        for page in range(len(units)):
            self.take(Step(StepKind.VISIT, page, spending=Spending((0,) if page else ())))
        for page, amount in enumerate(units):
            self.take(Step(StepKind.ENDOWED, spending=Spending((page,)), amount=amount))
        self.replays.saw([Plan(0, 0, range(len(units)), 0, (), 0)])
        self.replayed: list[int] = []

    def take(self, step: Step) -> list[Plan]:
        return self.frontier.apply(StepRow(self.frontier.last_seq + 1, State.FETCHED, step))

    def replay(self, pages: list[int]) -> None:
        """Apply a replay, as the poster does."""
        self.replayed += pages
        self.replays.saw(self.take(Step(StepKind.REPLAY, spending=Spending(pages))))

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
    # An endowment without a seed, which no crawl gives.
    books.take(Step(StepKind.ENDOWED, spending=Spending((1,)), amount=10))
    books.replays.saw([Plan(0, 0, [1], 0, (), 0)])
    assert books.run() == [1]


def test_unused_replays_may_be_used_later_but_not_all_at_once() -> None:
    books = Books(*([0] + [100] * (2 * REPLAYS_AT_ONCE)))
    for _ in range(2 * REPLAYS_AT_ONCE):
        books.replays.allowed += books.replays.per_fetch
    assert len(books.run()) == REPLAYS_AT_ONCE
    assert len(books.run()) == REPLAYS_AT_ONCE
    assert books.run() == []


START = "http://www.a.example/docs/index"


SOME = Scope(allow=("/docs/",), deny=("private",))


@pytest.mark.parametrize(
    ("scope", "url", "state"),
    [
        (Scope(scope="host"), "http://www.a.example/other", None),
        (Scope(scope="host"), "http://a.example/", State.SCOPE),
        (SOME, "http://a.example/docs/", None),
        (SOME, "http://a.example/docs/private", State.SCOPE),
        (SOME, "http://a.example/", State.SCOPE),
        (Scope(), "http://a.example/cat.jpg", State.TYPE),
        (Scope(scope="host"), "http://b.example/cat.JPG", State.TYPE),
    ],
)
def test_a_page_may_be_refused_for_its_ending_or_for_the_scope(
    scope: Scope, url: str, state: State | None
) -> None:
    assert ScopeGate(scope, [START]).refusal(url, 0, 0) is state


def test_a_script_is_requested_only_as_a_seed() -> None:
    gate = ScopeGate(Scope(), ["http://a.example/app.js"])
    for url in ("http://a.example/app.js", "http://a.example/setup.exe"):
        assert gate.refusal(url, 0, 0) is State.TYPE
        assert gate.refusal(url, 0, 0, is_seed=True) is None
