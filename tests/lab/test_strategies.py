from collections import Counter
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB, BacklinkCount, LargerSitesFirst
from minicrawl.lab.webs import Cycle, Exploration, Greedy, Lottery, Strategy, Web
from minicrawl.opic.ledger import READ, UNREAD, Ledger, visit, weighted_visit
from tests.graph.graphs import graph_of


def a_strategy(name: str, ledger: Ledger, pool: int = UNREAD) -> Strategy:
    strategies: dict[str, Callable[[], Strategy]] = {
        "greedy": lambda: Greedy(ledger, pool),
        "cycle": lambda: Cycle(ledger, pool),
        "lottery": lambda: Lottery(ledger, Random(1), pool),
        "backlinks": lambda: BacklinkCount(ledger, pool),
        "larger sites": lambda: LargerSitesFirst(lambda page: page % 3),
    }
    return strategies[name]()


ALL = ["greedy", "cycle", "lottery", "backlinks", "larger sites"]
REREADING = ["greedy", "cycle", "lottery"]


def settle(ledger: Ledger, strategy: Strategy, page: int, links: list[int]) -> None:
    plan = visit(ledger, page, links)
    ledger.post(plan)
    strategy.settled(plan)


def taken(strategy: Strategy) -> list[int]:
    pages = []
    while (page := strategy.take()) is not None:
        pages.append(page)
    return pages


@pytest.mark.parametrize("name", ALL)
def test_every_unread_page_is_taken_once(name: str) -> None:
    ledger = Ledger()
    strategy = a_strategy(name, ledger)
    strategy.born(ledger.mint(20))
    assert sorted(taken(strategy)) == list(range(20))
    assert strategy.take() is None


@pytest.mark.parametrize("name", ALL)
def test_a_page_that_is_put_back_is_taken_again(name: str) -> None:
    ledger = Ledger()
    strategy = a_strategy(name, ledger)
    strategy.born(ledger.mint(3))
    first = strategy.take()
    assert first is not None
    strategy.put_back(first)
    assert sorted(taken(strategy)) == [0, 1, 2]


@pytest.mark.parametrize("name", ALL)
def test_a_page_that_was_read_does_not_come_again_among_the_unread(name: str) -> None:
    ledger = Ledger()
    strategy = a_strategy(name, ledger)
    strategy.born(ledger.mint(6))
    order = []
    while (page := strategy.take()) is not None:
        order.append(page)
        settle(ledger, strategy, page, [(page + 1) % 6, (page + 2) % 6])
    assert sorted(order) == list(range(6))


@pytest.mark.parametrize("name", ALL)
def test_pages_born_later_are_taken_too(name: str) -> None:
    ledger = Ledger()
    strategy = a_strategy(name, ledger)
    strategy.born(ledger.mint(1))
    assert strategy.take() == 0
    strategy.born(ledger.mint(2))
    settle(ledger, strategy, 0, [1, 2])
    assert sorted(taken(strategy)) == [1, 2]


@pytest.mark.parametrize("name", REREADING)
def test_read_pages_come_again_and_again(name: str) -> None:
    ledger = Ledger()
    strategy = a_strategy(name, ledger, READ)
    strategy.born(ledger.mint(4, pool=READ))
    reads: Counter[int] = Counter()
    for _ in range(80):
        page = strategy.take()
        assert page is not None
        reads[page] += 1
        settle(ledger, strategy, page, [(page + 1) % 4])
    assert set(reads) == {0, 1, 2, 3}
    assert min(reads.values()) >= 10


@pytest.mark.parametrize("name", REREADING)
def test_a_page_that_was_settled_without_a_lease_waits_once(name: str) -> None:
    ledger = Ledger()
    strategy = a_strategy(name, ledger, READ)
    strategy.born(ledger.mint(3, pool=READ))
    for page in (0, 1, 0):
        settle(ledger, strategy, page, [2])
    assert sorted(taken(strategy)) == [0, 1, 2]


@pytest.mark.parametrize("name", REREADING)
def test_a_page_joins_the_read_ones_when_it_has_been_read(name: str) -> None:
    ledger = Ledger()
    strategy = a_strategy(name, ledger, READ)
    strategy.born(ledger.mint(3))
    assert strategy.take() is None
    settle(ledger, strategy, 1, [2])
    assert taken(strategy) == [1]


@pytest.mark.parametrize("name", ["greedy", "cycle", "lottery", "backlinks"])
def test_a_page_that_another_has_read_is_not_taken(name: str) -> None:
    ledger = Ledger()
    strategy = a_strategy(name, ledger)
    strategy.born(ledger.mint(3))
    settle(ledger, strategy, 1, [2])
    assert sorted(taken(strategy)) == [0, 2]


def test_greedy_takes_the_page_with_most_cash() -> None:
    ledger = Ledger()
    greedy = Greedy(ledger)
    greedy.born(ledger.mint(4))
    assert greedy.take() == 0
    settle(ledger, greedy, 0, [2])
    assert greedy.take() == 2
    plan = weighted_visit(ledger, 2, [1, 3], [1, 2])
    ledger.post(plan)
    greedy.settled(plan)
    assert greedy.take() == 3


def test_greedy_prefers_what_links_gave_to_what_was_waited_for() -> None:
    """A page found late is as good as one found early that nobody else links to."""
    ledger = Ledger()
    greedy = Greedy(ledger)
    greedy.born(ledger.mint(10))
    for _ in range(5):
        page = greedy.take()
        assert page is not None
        settle(ledger, greedy, page, [])
    late = ledger.mint(1)
    greedy.born(late)
    assert greedy.take() == 5
    settle(ledger, greedy, 5, list(late))
    assert greedy.take() == late[0]


def test_cycle_goes_round_in_the_order_of_discovery() -> None:
    ledger = Ledger()
    cycle = Cycle(ledger, READ)
    ledger.mint(3, pool=READ)
    order = []
    for _ in range(7):
        page = cycle.take()
        assert page is not None
        order.append(page)
        settle(ledger, cycle, page, [0])
    assert order == [0, 1, 2, 0, 1, 2, 0]


def test_a_cycle_over_the_unread_pages_is_breadth_first() -> None:
    ledger = Ledger()
    cycle = Cycle(ledger)
    ledger.mint(3)
    settle(ledger, cycle, 1, list(ledger.mint(2)))
    assert taken(cycle) == [0, 2, 3, 4]


def test_the_lottery_gives_all_the_same_chance_and_the_same_seed_the_same_draw() -> None:
    def draws(seed: int) -> list[int | None]:
        ledger = Ledger()
        lottery = Lottery(ledger, Random(seed))
        lottery.born(ledger.mint(50))
        return [lottery.take() for _ in range(5)]

    assert draws(1) == draws(1) != draws(2)
    drawn = Counter(page for seed in range(2000) for page in draws(seed))
    assert len(drawn) == 50
    assert 120 < min(drawn.values()) <= max(drawn.values()) < 290


def test_most_backlinks_come_first() -> None:
    ledger = Ledger()
    strategy = BacklinkCount(ledger)
    strategy.born(ledger.mint(5))
    assert strategy.take() == 0
    settle(ledger, strategy, 0, [3, 4])
    assert strategy.take() == 3
    settle(ledger, strategy, 3, [2])
    assert strategy.take() == 2
    settle(ledger, strategy, 2, [1, 1, 4])
    assert taken(strategy) == [1, 4]


def test_the_site_with_most_pages_waiting_comes_first() -> None:
    sites = [0, 1, 1, 1, 0, 2]
    strategy = LargerSitesFirst(sites.__getitem__)
    strategy.born(range(6))
    assert taken(strategy) == [1, 0, 2, 4, 3, 5]


def test_a_site_is_all_hosts_of_a_registrable_domain() -> None:
    """Pages 1 and 2 are on two hosts of a site, 3 and 4 on one host of another."""
    number, links = np.int32, [list[int]() for _ in range(5)]
    web = Web(
        graph_of(5, [(page, 0) for page in range(1, 5)]),
        host=np.array([0, 1, 2, 3, 3], number),
        site=np.array([0, 0, 0, 1, 1], number),
    )
    crawl = Exploration(web, links, np.ones(5))
    strategy = OF_AN_UNKNOWN_WEB["larger-sites-first"](crawl, 1)
    strategy.born(crawl.discover(range(5)))
    assert taken(strategy) == [0, 1, 3, 2, 4]
