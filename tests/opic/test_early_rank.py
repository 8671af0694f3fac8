"""PageRank of the links read so far stands in for cash while few pages are read."""

from array import array
from random import Random

import pytest

from minicrawl.opic.importance.early_rank import FIRST_TURN, LAST_TURN, MOST_LINKS
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import Ledger
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.ledger.plans import visit
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.states import State
from tests.opic.sibling_worlds import SiblingWorld, SitesByHost

PAGES = 5000


def begun(turns: int, endowment: int = 100) -> Siblings:
    """Read the first pages of a host on which only page 0 is a seed."""
    siblings = Siblings(Ledger(), array("I", bytes(4 * PAGES)), SitesByHost([0]))
    siblings.ledger.endow(siblings.ledger.mint(PAGES)[:1], endowment)
    siblings.introduce(range(PAGES))
    read(siblings, turns)
    return siblings


def read(siblings: Siblings, turns: int, links: int = 5) -> None:
    """Read the next pages, which link to pages at random."""
    rng, known, first = Random(1), len(siblings.ledger), siblings.means.turns
    for page in range(first, first + turns):
        plan = visit(siblings.ledger, page, rng.choices(range(known), k=links))
        siblings.ledger.post(plan)
        siblings.end_turn(plan, range(known, known))


def endow(siblings: Siblings, page: int) -> None:
    siblings.ledger.endow([page], 1000)
    step = Step(StepKind.ENDOWED, spending=Spending((page,)), amount=1000)
    siblings.apply(step, State.UNREAD, [], waited=False)


def test_estimates_are_those_of_an_oracle() -> None:
    world, rng = SiblingWorld([0, 1]), Random(1)
    world.begin([0, 0], 100)
    while not world.siblings.has_estimates:
        page = world.take()
        assert page is not None
        known = len(world.ledger)
        world.visit(page, rng.sample(range(known), min(known, 5)), [0, 1])
        for host in (0, 1):
            world.resume(host)
    assert world.siblings.keys.tolist() == pytest.approx(world.truth.estimates)


def test_cash_ranks_pages_before_the_first_turn_and_after_the_last() -> None:
    siblings = begun(FIRST_TURN - 1)
    assert not siblings.has_estimates
    read(siblings, 1)
    assert siblings.has_estimates
    assert "early.estimates" in siblings.state()
    read(siblings, LAST_TURN - FIRST_TURN - 1)
    assert siblings.has_estimates
    read(siblings, 1)
    assert not siblings.has_estimates
    assert "early.estimates" not in siblings.state()


def test_estimates_keep_the_sum_of_the_cash_of_waiting_pages() -> None:
    siblings = begun(FIRST_TURN)
    ledger = siblings.ledger
    waiting = [page for page, flag in enumerate(ledger.flags) if not flag]
    cash = sum(ledger.key[page] for page in waiting)
    assert sum(siblings.keys[page] for page in waiting) == pytest.approx(cash)


def test_new_seeds_bring_a_new_computation() -> None:
    siblings = begun(10 * FIRST_TURN)  # so many that the next one would be turns away
    (lonely,) = siblings.ledger.mint(1)
    siblings.host_of.append(0)
    siblings.introduce(range(lonely, lonely + 1))
    assert siblings.keys[lonely] == UNIT
    endow(siblings, lonely)
    read(siblings, 1)
    assert siblings.keys[lonely] > 20 * UNIT


def test_new_seeds_of_a_large_crawl_bring_no_estimates() -> None:
    siblings = begun(FIRST_TURN)
    siblings.end_early_rank()
    endow(siblings, 1)
    assert 1 in siblings.seeds
    assert not siblings.has_estimates


def test_without_an_endowment_seeds_weigh_nothing() -> None:
    siblings = begun(0, endowment=0)
    read(siblings, FIRST_TURN, links=0)
    assert siblings.has_estimates
    assert siblings.keys[0] == siblings.keys[PAGES - 1]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_state_without_links_goes_on_by_cash(is_late: bool) -> None:
    siblings = begun(FIRST_TURN)
    state = siblings.state()
    if is_late:
        state = {name: data for name, data in state.items() if not name.startswith("early.")}
    again = Siblings(siblings.ledger, siblings.host_of, SitesByHost([0]))
    again.restore(state, len(siblings.ledger))
    assert again.has_estimates is not is_late
    assert again.state() == state


def test_a_crawl_in_shards_ranks_by_cash() -> None:
    siblings = begun(FIRST_TURN)
    new = siblings.ledger.mint(1)
    siblings.host_of.append(0)
    step = Step(StepKind.RECEIVE, new[0], born=1)
    siblings.apply(step, State.UNREAD, [], waited=False)
    assert not siblings.has_estimates


def test_many_links_end_the_estimates() -> None:
    siblings = begun(FIRST_TURN)
    read(siblings, 1, links=MOST_LINKS)
    assert not siblings.has_estimates


def test_a_page_without_links_passes_nothing_on() -> None:
    siblings = begun(FIRST_TURN + 9)
    before = siblings.keys.tolist()
    read(siblings, 1, links=0)
    assert siblings.keys.tolist() == before
