"""Pages are read again in the order of their worth times the chance that they have changed.

Crawls that read pages again, and a record of their turns.

A few large hosts have more pages than are ever read. The small hosts have three pages each, and all
pages of the web link to one page of a host that has no other.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from minicrawl import Asked, Event
from minicrawl.crawl.schedule.watched_pages import WatchedPages, dated_at
from minicrawl.crawl.schedule.worth import worth_of
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.states import READ_STATES
from tests.crawl.fakes import FakeWeb, Run, Scene, crawl, web_of
from tests.crawl.jumping_clock import work_takes_no_time
from tests.crawl.schedule.read_pages import DAY_S, TODAY, Pages, document, yesterday

LICENCE = "http://licence.example/"
LARGE, SMALL = 6, 12
SEEDS = tuple(f"http://large{n}.example/" for n in range(LARGE))
PAGES_OF_LARGE = 3000


def web_with_small_hosts(takes_s: float = 0.1, pages: int = PAGES_OF_LARGE) -> FakeWeb:
    """Make a web of large hosts with `pages` pages each, and small ones."""
    rng = Random(7)
    large = [f"http://large{n}.example" for n in range(LARGE)]
    small = [f"http://small{n}.example/{k or ''}" for n in range(SMALL) for k in range(3)]
    links = {page: [LICENCE, *rng.sample(small, 2)] for page in small} | {LICENCE: [small[0]]}
    for host in large:
        for n in range(pages):
            near = [f"{host}/{k}" for k in (2 * n + 1, 2 * n + 2) if k < pages]
            far = [f"{rng.choice(large)}/{rng.randrange(n + 1) or ''}"]
            far += [rng.choice(small)] * (n % 5 == 0)
            links[f"{host}/{n or ''}"] = [f"{host}/", LICENCE, *near, *far]
    return FakeWeb(web_of(links), takes_s=takes_s)


class Turn(NamedTuple):
    """One request, and the read page that held the most cash at that moment."""

    url: str
    again: bool
    richest: str
    cash: float

    @property
    def host(self) -> str:
        return self.url[: self.url.index("/", 8)]


def turns_of(
    path: Path, web: FakeWeb | None = None, seeds: Sequence[str] = SEEDS, **settings: Any
) -> tuple[Run, list[Turn]]:
    """Crawl from these seeds, and return the run with its turns."""
    turns: list[Turn] = []
    read: set[str] = set()

    def hear(scene: Scene, event: Event) -> None:
        if isinstance(event, Asked):
            turns.append(Turn(event.url, event.url in read, *_richest(scene)))
            read.add(event.url)

    chosen = {"continuous": True, "address_delay": 0, "barren_pages": 10**6, **settings}
    with work_takes_no_time():
        run = crawl(web or web_with_small_hosts(), path, *seeds, hear=hear, **chosen)
    return run, turns


def _richest(scene: Scene) -> tuple[str, float]:
    """Return the read page that holds the most cash, and that cash."""
    frontier = scene.recorder.frontier
    cash = frontier.ledger.cash_of_all()
    cash[~np.isin(frontier.states(), READ_STATES)] = -1
    page = int(cash.argmax())
    return scene.recorder.pages.url_of(page), float(cash[page])


def shares(turns: list[Turn]) -> Iterator[tuple[str, int, float]]:
    """Yield each host with its number of turns and the share of them that re-read a page."""
    count = Counter(turn.host for turn in turns)
    again = Counter(turn.host for turn in turns if turn.again)
    for host, number in count.items():
        yield host, number, again[host] / number


def chance_of(first_at: float, last_at: float, changes: int, today: float) -> float:
    watched = WatchedPages(worth_of("greedy"), lambda pages: np.ones(len(pages)))
    read = document(0, changes=changes)._replace(first_at=first_at, last_at=last_at)
    watched.add(read, 0, waits=True)
    [(negative, _)] = watched.best_of(0, today)
    return -negative


def test_a_page_that_was_just_read_has_not_changed() -> None:
    assert chance_of(0, TODAY, 3, TODAY) == 0
    assert chance_of(0, TODAY + 60, 3, TODAY) < 0.0001


def test_a_page_read_when_the_clock_was_ahead_is_soon_read_again() -> None:
    year = 365 * DAY_S
    assert chance_of(TODAY + year, TODAY + year, 0, TODAY) > 0.9
    assert chance_of(TODAY + year, TODAY, 0, TODAY) == 0
    assert 0 < chance_of(TODAY + year, TODAY - DAY_S, 0, TODAY) < 0.1


@pytest.mark.parametrize(
    ("watched_days", "changes", "later_days", "chance"),
    [
        pytest.param(0, 0, 14, 1 - np.exp(-1), id="an unknown page changes once in a fortnight"),
        pytest.param(70, 0, 7, 1 - np.exp(-0.5 / 11), id="a page that never changed"),
        pytest.param(70, 20, 7, 1 - np.exp(-20.5 / 11), id="a page that changed often"),
    ],
)
def test_the_chance_of_a_change_grows_with_time_and_with_earlier_changes(
    watched_days: int, changes: int, later_days: int, chance: float
) -> None:
    last_at = watched_days * DAY_S
    found = chance_of(0, last_at, changes, last_at + later_days * DAY_S)
    assert found == pytest.approx(chance)


def test_the_order_is_cash_times_chance() -> None:
    pages = Pages([document(0, first=9, last=9), document(1, first=3, last=3), document(2)])
    pages.cash[:3] = (1, 100, 10_000)
    assert pages.take_all() == [1, 0, 2]


def test_a_page_of_a_busy_host_is_skipped_and_keeps_its_place() -> None:
    pages = Pages(yesterday(3))
    pages.cash[:3] = (3, 2, 1)
    pages.busy = {0}
    assert pages.take() == 1
    pages.free(0)
    assert pages.take() == 0
    assert pages.take() == 2
    assert pages.take() is None


def test_each_host_that_becomes_free_gets_a_turn_until_it_has_no_more_pages() -> None:
    """All hosts become free at the same moment, before a page of the others was chosen."""
    pages = Pages(yesterday(60), hosts=3)
    pages.cash[::3] = 9
    pages.busy = {0, 1, 2}
    taken = []
    while (page := pages.take()) is not None or pages.busy:
        if page is None:
            pages.free(*pages.busy)
            continue
        taken.append(page)
        pages.busy.add(page % 3)
        if len(taken) == 60:
            break
    assert sorted(taken) == list(range(60))
    for start in range(0, 60, 3):
        assert {page % 3 for page in taken[start : start + 3]} == {0, 1, 2}


def test_the_pages_of_a_host_come_in_the_order_of_cash_times_chance() -> None:
    rng = np.random.default_rng(1)
    pages = Pages(yesterday(1000), hosts=5)
    pages.cash = rng.random(1000)
    taken = pages.take_all()
    for host in range(5):
        mine = [page for page in taken if page % 5 == host]
        assert mine == sorted(mine, key=lambda page: -pages.cash[page])


def test_a_forgotten_page_is_not_read_again() -> None:
    pages = Pages(yesterday(1), endless=True)
    assert pages.take() == 0
    pages.refresh.watched.forget(0)
    assert not pages.refresh.has_more()
    assert pages.take() is None
    pages.refresh.saw(*yesterday(1))
    assert pages.take() == 0


def test_a_page_that_is_forgotten_while_it_waits_does_not_wait_any_more() -> None:
    pages = Pages(yesterday(3), hosts=1)
    pages.refresh.watched.forget(0)
    assert sorted(pages.take_all()) == [1, 2]
    assert not pages.refresh.has_more()


def test_a_page_that_was_given_back_is_the_next_one() -> None:
    pages = Pages(yesterday(3), hosts=1)
    assert pages.take() == 0
    pages.refresh.give_back(0)
    assert pages.take_all() == [0, 1, 2]


def test_a_page_that_may_be_cached_waits_longer_if_its_host_was_right() -> None:
    pages = Pages(document(page, first=100, last=100) for page in range(2))
    for day in range(99, 0, -1):
        pages.refresh.watched.cached(0, DAY_S)
        for page in range(2):
            pages.refresh.saw(document(page, first=100, last=day))
    pages.refresh.watched.cached(0, DAY_S)
    assert pages.take_all() == [1, 0]


def test_a_date_of_last_modified_is_in_seconds() -> None:
    assert dated_at(document(0)) is None
    dated = document(0)._replace(last_modified="Thu, 01 Jan 1970 00:01:00 GMT")
    assert dated_at(dated) == 60


def test_waiting_pages_are_counted_by_host() -> None:
    watched = WatchedPages(worth_of("greedy"), lambda pages: np.ones(len(pages)))
    for page in range(3):
        watched.add(document(page), page % 2, waits=True)
    assert (watched.waiting_of(0), watched.waiting_of(1), watched.waiting_of(2)) == (2, 1, 0)
    watched.set_waits(0, 0)
    assert (watched.waiting_of(0), watched.waiting) == (1, 2)


def test_a_page_that_is_given_cash_moves_up_at_once() -> None:
    """Its host is queued with another page, and has many waiting pages."""
    pages = Pages(yesterday(600), hosts=3)
    pages.cash[:600] = np.arange(600)
    assert pages.take() == 599
    pages.pay(0, 1000)
    assert pages.refresh.best_host() == 0
    assert pages.take() == 0


def test_after_it_was_read_again_the_former_cash_of_a_page_does_not_count() -> None:
    pages = Pages(yesterday(3), endless=True, hosts=1)
    pages.pay(1, 50)
    pages.pay(1, 70)
    assert pages.take() == 1
    pages.cash[1] = 0
    pages.refresh.saw(document(1))
    pages.refresh.release(1)
    assert [pages.take(), pages.take(), pages.take()] == [0, 2, 1]


def test_a_page_that_spent_its_cash_in_a_replay_moves_down() -> None:
    pages = Pages(yesterday(3), hosts=1)
    pages.pay(1, 50)
    pages.pay(1, 0)
    assert pages.take_all() == [0, 2, 1]


def test_the_best_host_of_all_may_be_busy() -> None:
    pages = Pages(yesterday(3))
    pages.cash[:3] = (1, 3, 2)
    pages.busy = {1}
    assert pages.refresh.best_host() == 1
    pages.refresh.leave(1)
    assert pages.refresh.best_host() == 2
    pages.free(1)
    assert pages.refresh.best_host() == 1


def test_in_random_order_each_page_is_read_again_with_equal_chance() -> None:
    known = [document(page, first=20, last=page) for page in range(10)]
    pages = Pages(known, endless=True, hosts=1, strategy="random")
    pages.cash[:10] = np.arange(10) ** 4
    turns = np.zeros(10)
    for turn in range(2000):
        pages.today += 1
        page = pages.take()
        assert page is not None
        turns[page] += 1
        pages.refresh.saw(document(page, first=20, last=-(turn + 1) / DAY_S))
        pages.refresh.release(page)
    assert turns == pytest.approx(np.full(10, 200), rel=0.2)


def test_the_strategy_of_a_crawl_also_orders_pages_to_read_again(path: Path) -> None:
    """Breadth first, pages of a host are read again in a cycle, whatever their cash."""
    _, turns = turns_of(
        path,
        web_with_small_hosts(pages=60),
        strategy="breadth-first",
        refresh=0.5,
        pages=200,
        delay=1,
    )
    for host in {turn.host for turn in turns}:
        asked = [turn.url for turn in turns if turn.host == host]
        last = {url: n for n, url in enumerate(asked[: len(asked) // 2])}
        for n, url in enumerate(asked[len(asked) // 2 :], len(asked) // 2):
            if url in last:
                assert last[url] == min(last.values())
            last[url] = n


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize(("strategy", "share", "delay"), [("siblings", 0.2, 0), ("greedy", 0.8, 1)])
def test_no_page_starves_where_small_hosts_have_nothing_unread(
    strategy: str, share: float, delay: int, path: Path
) -> None:
    """The shares hold for all hosts and for each large one, and the richest page is soon read."""
    _, turns = turns_of(
        path,
        web_with_small_hosts(pages=600),
        strategy=strategy,
        refresh=share,
        delay=delay,
        pages=600,
    )
    for first in range(0, 600, 200):
        again = sum(turn.again for turn in turns[first : first + 200]) / 200
        assert again == pytest.approx(share, abs=0.06)
    large = [found for found in shares(turns[200:]) if "large" in found[0]]
    assert all(again == pytest.approx(share, abs=0.1, rel=0.2) for _, _, again in large)
    most = int(1 / share) + 2
    for n, turn in enumerate(turns[200:], 200):
        host = turn.richest[: turn.richest.index("/", 8)]
        of_host = [later.url for later in turns[n:] if later.host == host]
        assert turn.richest in of_host[:most] or len(of_host) < most
    assert max(turn.cash for turn in turns[300:]) < 500
    assert sum(turn.url == LICENCE for turn in turns[200:]) >= 3


def test_the_share_of_pages_to_read_again_holds_though_other_hosts_are_idle(path: Path) -> None:
    """Two hosts have pages to read again, and six others have only unread pages."""
    old: dict[str, list[str]] = {
        f"http://old{host}.example/{n}": [] for host in range(2) for n in range(20)
    }
    links: dict[str, list[str]] = {"http://a.example/": list(old), **old}
    crawl(web_of(links), path, "http://a.example/", delay=0, address_delay=0)
    new = [f"http://new{host}.example/{n}" for host in range(6) for n in range(20)]
    links |= dict.fromkeys(old, new) | {page: [] for page in new}
    web = FakeWeb(web_of(links), takes_s=0.1)
    pages = len(old) + 1 + 40
    chosen: dict[str, Any] = {"refresh": 0.8, "delay": 1.0}
    run = crawl(web, path, pages=pages, later_s=10 * DAY_S, **chosen)
    again = [url for url in run.asked if url in old or url == "http://a.example/"]
    assert len(again) / 40 == pytest.approx(0.8, abs=0.05)


def test_one_slow_host_with_unread_pages_does_not_make_a_crawl_idle(path: Path) -> None:
    """The crawl has no limit of pages, so pages of other hosts are read again meanwhile."""
    quick = [f"http://quick{host}.example/" for host in range(8)]
    slow = [f"http://slow.example/{n}" for n in range(60)]
    web = FakeWeb(web_of({"http://slow.example/": [*quick, *slow]} | {url: [] for url in quick}))
    _, turns = turns_of(path, web, ["http://slow.example/"], refresh=0.5, delay=1.0, for_=40)
    of_slow = sum(turn.host == "http://slow.example" for turn in turns)
    assert of_slow >= 36
    assert len(turns) >= of_slow + 0.7 * 8 * 36


def test_a_page_without_cash_is_read_again_beside_one_that_always_gets_some() -> None:
    """The worth of a page grows with the time since it was read."""
    pages = Pages((document(page, first=1) for page in range(2)), endless=True)
    pages.cash[0] = 20
    taken = []
    for _ in range(50):
        pages.today += DAY_S / 24
        page = pages.take()
        assert page is not None
        taken.append(page)
        pages.free(0, 1)
        pages.refresh.saw(document(page)._replace(last_at=pages.today))
        pages.refresh.posted([Plan(page, 0, [0], 0, (), 0)])
        pages.refresh.release(page)
    assert 1 in taken
