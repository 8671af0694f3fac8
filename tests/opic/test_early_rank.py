"""PageRank of the links read so far stands in for cash while few pages are read."""

from array import array
from random import Random

import pytest

from minicrawl.model import State
from minicrawl.opic import early_rank
from minicrawl.opic.early_rank import FIRST_TURN, LAST_TURN, EarlyRank
from minicrawl.opic.ledger import Ledger, Spending, Step, StepKind, visit
from minicrawl.opic.money import UNIT
from minicrawl.opic.siblings import Siblings
from tests.opic.sibling_worlds import SiblingWorld, SitesByHost


def read(world: SiblingWorld, turns: int) -> None:
    """Read pages of one host that link to each other at random."""
    rng = Random(1)
    for _ in range(turns):
        page = world.take()
        assert page is not None
        known = len(world.ledger)
        world.visit(page, rng.sample(range(known), min(known, 5)), [0, 0])
        world.resume(0)


def begun(turns: int) -> SiblingWorld:
    world = SiblingWorld([0])
    world.begin([0, 0], 100)
    read(world, turns)
    return world


def test_an_iteration_passes_rank_on_and_most_of_it_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(early_rank, "_ITERATIONS", 1)
    ledger, early = Ledger(), EarlyRank()
    ledger.mint(3)
    ledger.endow([0], 1000)
    ledger.post(visit(ledger, 0, [1, 2]))
    early.read(0, [1, 2])
    early.compute(1, ledger)
    # Of 1 / 3, the seed gives 17 / 120 to each page, of which .7 returns. The rest of all jumps.
    gift, jumps = 17 / 120, 1 - 17 / 60
    seed = 1.4 * gift + jumps * (100 / 103 + 1 / 103)
    waiting = 0.3 * gift + jumps / 103
    found = [estimate / UNIT for estimate in early.estimates]
    in_units = sum(ledger.key[page] for page in (1, 2)) / 2 / UNIT / waiting
    assert found == pytest.approx([seed * in_units, waiting * in_units, waiting * in_units])


def test_cash_ranks_pages_before_the_first_turn_and_after_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(early_rank, "LAST_TURN", FIRST_TURN + 30)
    world = begun(FIRST_TURN - 1)
    assert not world.siblings.has_estimates
    read(world, 1)
    assert world.siblings.has_estimates
    assert "early.estimates" in world.siblings.state()
    read(world, 30)
    assert not world.siblings.has_estimates
    assert "early.estimates" not in world.siblings.state()
    assert LAST_TURN == 4096


def test_estimates_keep_the_sum_of_the_cash_of_waiting_pages() -> None:
    world = begun(FIRST_TURN)
    waiting = [page for page, flag in enumerate(world.ledger.flags) if not flag]
    cash = sum(world.ledger.key[page] for page in waiting)
    assert sum(world.siblings.keys[page] for page in waiting) == pytest.approx(cash)


def test_new_seeds_bring_a_new_computation() -> None:
    world = begun(FIRST_TURN)
    (lonely,) = world.birth([0])
    assert world.siblings.keys[lonely] == UNIT
    world.ledger.endow([lonely], 1000)
    step = Step(StepKind.ENDOWED, spending=Spending((lonely,)), amount=1000)
    world.siblings.apply(step, State.UNREAD, [], waited=False)
    read(world, 1)
    assert world.siblings.keys[lonely] > 20 * UNIT


def test_new_seeds_of_a_large_crawl_bring_no_estimates() -> None:
    world = begun(FIRST_TURN)
    world.siblings.end_early_rank()
    step = Step(StepKind.ENDOWED, spending=Spending((1,)), amount=1000)
    world.siblings.apply(step, State.UNREAD, [], waited=False)
    assert 1 in world.siblings.seeds
    assert not world.siblings.has_estimates


def test_without_an_endowment_seeds_weigh_nothing() -> None:
    ledger, early = Ledger(), EarlyRank()
    ledger.mint(3)
    ledger.post(visit(ledger, 0, []))
    early.read(0, [])
    early.compute(1, ledger)
    assert early.estimates[1] == early.estimates[2] == UNIT


@pytest.mark.parametrize("is_late", [False, True])
def test_a_state_without_links_goes_on_by_cash(is_late: bool) -> None:
    world = begun(FIRST_TURN)
    state = world.siblings.state()
    if is_late:
        state = {name: data for name, data in state.items() if not name.startswith("early.")}
    again = Siblings(world.ledger, world.host_of, SitesByHost([0]))
    again.restore(state, len(world.ledger))
    assert again.has_estimates is not is_late
    assert again.state() == state


def test_a_crawl_in_shards_ranks_by_cash() -> None:
    world = begun(FIRST_TURN)
    siblings, new = world.siblings, world.ledger.mint(1)
    world.host_of.append(0)
    step = Step(StepKind.RECEIVE, new[0], born=1)
    siblings.apply(step, State.UNREAD, [], waited=False)
    assert not siblings.has_estimates
    world.queue.enqueue_new()
    world.queue.look()
    assert world.take() is not None


def test_many_links_end_the_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    world = begun(FIRST_TURN)
    monkeypatch.setattr(early_rank, "MOST_LINKS", 1)
    read(world, 1)
    assert not world.siblings.has_estimates


def test_a_page_without_links_passes_nothing_on() -> None:
    early = EarlyRank()
    early.estimates = array("q", [UNIT, UNIT])
    early.read(0, [])
    assert early.estimates.tolist() == [UNIT, UNIT]
