"""The state of siblings is a fold over the steps, which a checkpoint saves."""

from array import array
from contextlib import closing
from functools import partial
from math import log
from pathlib import Path

import pytest

from minicrawl.frontier.loading import load_frontier
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.importance.expected_value import ValueEstimate
from minicrawl.opic.ledger.books import Step, StepKind
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.states import State
from minicrawl.store import step_log
from minicrawl.store.records import StepRow
from tests.stores import A, B, HandCrawl

ONE, TWO, THREE = f"{A}1", f"{A}2", f"{A}3"
FAR, FARTHER = "http://far.example/", "http://www.far.example/"


@pytest.fixture
def crawl(crawl: HandCrawl) -> HandCrawl:
    """Crawl in the order by siblings."""
    frontier = crawl.frontier
    frontier.siblings = Siblings(frontier.ledger, frontier.urls.host_of, frontier.urls.sites)
    return crawl


def shown(frontier: Frontier) -> Siblings:
    """Siblings of a frontier, with all gifts counted."""
    assert frontier.siblings is not None
    frontier.siblings.count_gifts()
    return frontier.siblings


def loaded(crawl: HandCrawl) -> Siblings:
    """Siblings as a resumed run loads them."""
    connection = crawl.store.connection
    spending_at = partial(step_log.spending, connection)
    return shown(load_frontier(connection, crawl.terms, spending_at, siblings=True))


def begin(crawl: HandCrawl) -> None:
    crawl.seeds([A], endowment=10)
    crawl.read(A, [ONE, TWO, FAR])
    crawl.read(ONE, [TWO, THREE])
    crawl.moved(TWO, FARTHER)


def go_on(crawl: HandCrawl) -> None:
    crawl.ended(THREE, State.ROBOTS)
    crawl.ended(FAR, State.NOT_FOUND)
    crawl.replay([crawl.page(ONE)])
    crawl.reopen([crawl.page(FAR)])
    crawl.read(FAR, [A, B])


def test_a_resumed_run_has_the_state_of_the_last_run(crawl: HandCrawl) -> None:
    begin(crawl)
    for keep in (crawl.commit, crawl.checkpoint):
        keep()
        assert loaded(crawl).state() == shown(crawl.frontier).state()
    go_on(crawl)
    crawl.commit()
    assert loaded(crawl).state() == shown(crawl.frontier).state()


def test_pages_closed_without_a_request_are_no_turns(crawl: HandCrawl) -> None:
    begin(crawl)
    go_on(crawl)
    found = shown(crawl.frontier)
    own = found.group_of(crawl.page(ONE))
    assert found.groups.turns[own] == 2  # ONE and TWO
    assert found.groups.revealed[own] == pytest.approx(log(2))
    assert found.means.turns == 5  # also A, and FAR twice, but not THREE


def test_a_page_that_is_read_again_has_no_further_turn(crawl: HandCrawl) -> None:
    crawl.seeds([A, B])
    crawl.read(A, [ONE])
    crawl.read(A, [ONE, TWO])
    found = shown(crawl.frontier)
    assert found.means.turns == 1
    assert found.means.revealed == pytest.approx(log(2))


def test_hosts_of_one_site_have_one_income(crawl: HandCrawl) -> None:
    begin(crawl)
    crawl.read(A, [FAR, FARTHER])
    budgets = shown(crawl.frontier).budgets
    far, farther = (crawl.frontier.urls.host_of[crawl.page(url)] for url in (FAR, FARTHER))
    assert far != farther
    assert budgets.family_of[far] == budgets.family_of[farther] == far
    budgets.look()
    first = budgets.incomes.of[far]
    assert first > 0
    crawl.read(FARTHER, [FAR])
    shown(crawl.frontier).budgets.look()
    assert budgets.incomes.of[far] == first


def test_the_first_turn_of_a_page_is_an_income_of_other_sites(crawl: HandCrawl) -> None:
    begin(crawl)
    budgets = shown(crawl.frontier).budgets
    budgets.look()
    assert budgets.incomes.of[crawl.frontier.urls.host_of[crawl.page(FAR)]] > 0


def test_the_value_of_a_page_is_learned_once(crawl: HandCrawl) -> None:
    crawl.seeds([A])
    values = ValueEstimate(shown(crawl.frontier), array("I", [0]))
    crawl.frontier.values, means = values, []
    for seq in (2, 3):
        crawl.frontier.apply(StepRow(seq, State.FETCHED, Step(StepKind.VISIT, 0), value=0))
        means.append(values.mean)
    assert means == [pytest.approx(0.9 / 4)] * 2


def test_the_target_of_a_redirected_seed_is_a_seed(crawl: HandCrawl) -> None:
    crawl.seeds([A], endowment=10)
    crawl.read(A, [FAR, B])
    crawl.reopen([crawl.page(A)])
    crawl.moved(A, FAR)
    far, other = (crawl.frontier.urls.host_of[crawl.page(url)] for url in (FAR, B))
    assert shown(crawl.frontier).budgets.hosts([other]) == [other]
    assert shown(crawl.frontier).budgets.hosts([far]) == []
    assert shown(crawl.frontier).seeds == {0, 1}


def test_foretold_pages_belong_to_the_page_that_foretold_them(crawl: HandCrawl) -> None:
    crawl.seeds([A])
    meeting = crawl.frontier.urls.meet([ONE, TWO], 1)
    crawl.batch.urls += meeting.urls
    crawl.take_step(Step(StepKind.BORN, crawl.page(A), 2, amount=4))
    for keep in (crawl.commit, crawl.checkpoint):
        keep()
        assert loaded(crawl).state() == shown(crawl.frontier).state()
    crawl.read(A, [ONE, TWO])
    found = shown(crawl.frontier)
    assert found.means.revealed == pytest.approx(log(3))
    assert list(found.groups.novelty) == [127]


def test_the_novelty_of_pages_is_unknown_behind_a_redirect_and_at_most_all(
    crawl: HandCrawl,
) -> None:
    crawl.seeds([A, B])
    crawl.moved(B, FAR, State.CANONICAL, links=[f"{FAR}1"])
    crawl.frontier.urls.meet([ONE, TWO], 1)
    crawl.take_step(Step(StepKind.BORN, crawl.page(A), 2, amount=4))
    crawl.read(A, [THREE, f"{A}4"])
    assert list(shown(crawl.frontier).groups.novelty) == [127, 127, 254]


def test_a_store_begun_in_another_order_starts_without_turns(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        begin(crawl)
        crawl.checkpoint()
        found = loaded(crawl)
        assert found.known == len(crawl.frontier)
        assert set(found.groups.turns) == {0}
        go_on(crawl)
        crawl.commit()
        assert loaded(crawl).means.turns == 2


def test_a_store_begun_in_another_order_vouches_for_seeds_of_its_last_step(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A], endowment=10)
        crawl.checkpoint()
        assert loaded(crawl).seeds == {crawl.page(A)}
