"""The order by siblings takes the page that a search by the formulas finds."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from minicrawl.opic.families import families, rounds
from minicrawl.opic.importance import early_rank
from minicrawl.opic.queues import by_group, by_value, eligible_items, group_queue, sibling_members
from minicrawl.opic.queues.by_group import ByGroup
from minicrawl.opic.siblings.siblings import Siblings
from tests.opic.sibling_worlds import SiblingWorld, SitesByHost

HOSTS = 5
SITES = (0, 1, 1, 3, 4)
EXACT = 1 - 1e-3
"""Tolerance: factors are whole 65,536ths, which is coarse for sites past their budget."""


@pytest.fixture(autouse=True)
def poor_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make budgets so small that they are soon spent; recent turns count soon, links not long."""
    limits = {"FREE_AT_FIRST": 2, "FREE_READS": 4, "TURNS_A_READ": 20, "READS_A_UNIT": 2}
    times = {"LOOK_EVERY": 4, "PATIENCE": 2}
    turns = {"FIRST_TURN": 5, "LAST_TURN": 30}
    early = {"FEWEST_TURNS": 10}
    for module, values in ((families, limits | times), (rounds, early), (early_rank, turns)):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


def drawn_hosts(rng: Random, most: int) -> list[int]:
    """Draw hosts of new pages, some alone on their host, some with siblings."""
    hosts = rng.sample(range(HOSTS), 2)
    return [rng.choice(hosts) for _ in range(rng.randrange(most))]


def live(world: SiblingWorld, rng: Random, page: int) -> None:
    """Let something happen to a leased page."""
    known = range(len(world.ledger))
    links = rng.sample(known, min(len(known), rng.randrange(12)))
    match rng.randrange(10):
        case 0:
            world.put_back(page)
        case 1:
            world.refuse(page)
        case 2 if (target := rng.choice(known)) != page:
            world.redirect(page, target)
        case 4 | 5 if world.host_of[page] % 2:
            world.fail(page)
        case 3:
            told = world.foretold(page, drawn_hosts(rng, 5), 10)
            world.visit(page, [*links, *told])
        case _:
            world.visit(page, links, drawn_hosts(rng, 6))


def disturb(world: SiblingWorld, rng: Random) -> None:
    """Let something happen beside the turns."""
    read = [page for page, flag in enumerate(world.ledger.flags) if flag]
    match rng.randrange(12):
        case 0:
            world.pause(rng.randrange(HOSTS))
        case 1:
            world.birth(drawn_hosts(rng, 4))
        case 2 if read:
            world.reopen(rng.choice(read))
        case 3 if read:
            world.replay(rng.choice(read), rng.sample(range(len(world.ledger)), 3))
        case 4 if world.leased:
            world.put_back(rng.choice(sorted(world.leased)))


def go_on(world: SiblingWorld, rng: Random, *, is_disturbed: bool = True) -> None:
    """End most turns, let something happen, and resume most paused hosts."""
    for page in sorted(world.leased):
        if rng.random() < 0.7:
            live(world, rng, page)
    if is_disturbed:
        disturb(world, rng)
    for host in sorted(world.paused):
        if rng.random() < 0.8:
            world.resume(host)


MODULES = (by_group, by_value, eligible_items, group_queue, sibling_members)


@contextmanager
def small_rankings(few_members: int, **more: int) -> Iterator[None]:
    """Rank two members of a group with more than these; with 0, hosts are large, with arrays."""
    large = 64 if few_members else 2
    with pytest.MonkeyPatch.context() as patch:
        few = {"FEW_MEMBERS": few_members, "FEW": few_members}
        values = {**few, "_RANKED": 2, "_LARGE": large, **more}
        for name, value in values.items():
            having = [module for module in MODULES if hasattr(module, name)]
            assert having, name
            for module in having:
                patch.setattr(module, name, value)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("few_members", [0, 16])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1 << 30))
@example(seed=742131333)  # here a page is refused and then reopened
def test_the_page_that_is_taken_has_the_largest_value(few_members: int, seed: int) -> None:
    part = 4 if few_members else 1000
    with small_rankings(few_members, _MOST_RANKED=3, _MOST_LISTS=3, PART_AT_FIRST=part):
        check_the_order(Random(seed))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_groups_that_become_known_together_are_taken_by_value(seed: int) -> None:
    rng, hosts = Random(seed), range(12)
    world = SiblingWorld(hosts)
    (first,) = world.birth([0])
    world.vouch(first)
    world.visit(first, [], [rng.choice(hosts) for _ in range(60)])
    taken: list[float] = []
    while (page := world.take()) is not None:
        taken.append(world.truth.value(page))
        world.resume(world.host_of[page])
    assert len(taken) == 60
    assert all(one >= other * EXACT for one, other in pairwise(taken))


def test_a_reopened_page_on_lease_is_not_taken_twice() -> None:
    world = SiblingWorld(SITES)
    world.birth([0] * 40)
    for _ in range(32):
        page = world.take()
        assert page is not None
        world.visit(page, [0])
        world.resume(0)
    world.pause(0)
    (alone,) = world.birth([1])
    assert world.take() == alone
    world.refuse(alone)
    world.reopen(alone)
    world.resume(1)
    assert world.take() == alone
    world.resume(1)
    world.queue.look()
    assert world.take() is None
    world.put_back(alone)
    assert world.take() == alone


def test_members_of_a_large_group_are_taken_by_value_while_they_grow() -> None:
    world, rng = SiblingWorld((0,)), Random(1)
    world.birth([0] * 200)
    for _ in range(200):
        world.queue.look()
        best, page = world.best(), world.take()
        assert page is not None
        assert world.truth.value(page) >= best * EXACT
        if rng.random() < 0.1:
            world.put_back(page)
        else:
            world.visit(page, rng.sample(range(200), 30))
        world.resume(0)


def test_members_of_a_large_group_that_wait_again_are_taken_by_their_new_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(early_rank, "LAST_TURN", 3)  # by cash, which a page has spent
    world, rng = SiblingWorld((0,)), Random(1)
    world.birth([0] * 40)
    for _ in range(80):
        world.queue.look()
        best, page = world.best(), world.take()
        assert page is not None
        assert world.truth.value(page) >= best * EXACT
        world.visit(page, rng.sample(range(40), 10))
        if rng.random() < 0.6:
            world.reopen(page)
        world.resume(0)


def test_a_page_of_a_group_that_was_on_lease_as_a_whole_is_taken_once_it_waits_again() -> None:
    world = SiblingWorld((0,))
    group = world.birth([0] * 3)
    while world.take() is not None:
        world.resume(0)
    for page in group:
        world.visit(page, [])
    for page in group:
        world.reopen(page)
        assert world.take() == page
        world.resume(0)


def test_a_large_new_group_comes_before_a_lone_page_of_less_value() -> None:
    world = SiblingWorld((0, 1))
    group = world.birth([0] * 40)
    (alone,) = world.birth([1])
    assert world.truth.value(alone) < world.best()
    assert world.take() in group


def test_new_pages_that_are_refused_at_once_are_never_taken() -> None:
    world = SiblingWorld((0, 1, 2))
    world.birth([0, 0, 1, 1, 2], refused=(1, 2, 3, 4))
    assert world.take() == 0
    world.resume(0)
    assert world.take() is None


def test_members_that_all_stay_on_lease_are_taken_once_and_by_value() -> None:
    world = SiblingWorld((0, 1))
    world.birth([1] * 3)
    world.pause(1)
    group = world.birth([0] * 40)
    for _ in group:
        best, page = world.best(), world.take()
        assert page is not None
        assert world.truth.value(page) >= best * EXACT
        world.resume(0)
    assert world.leased == {*group}
    assert world.take() is None


def test_an_endowed_page_moves_up_unless_it_is_on_lease() -> None:
    world = SiblingWorld((0, 1))
    world.birth([0] * 30)
    first = world.take()
    assert first is not None
    last = min(range(30), key=world.truth.value)
    world.ledger.endow([first, last], 100)
    world.queue.posted((), paid=(first, last))
    world.resume(0)
    assert world.take() == last
    world.resume(0)
    world.put_back(first)
    assert world.take() == first


def test_a_lone_page_that_got_cash_is_taken_before_the_next_look() -> None:
    world = SiblingWorld((0, 1))
    for _ in range(30):
        world.birth([0])
    world.birth([1] * 200)
    for page in range(30, 130):
        world.visit(page, [page])
    world.pause(1)
    world.queue.look()
    best = world.take()
    assert best is not None
    world.put_back(best)
    world.resume(0)
    world.visit(131, [best])
    assert world.take() == best


def check_the_order(rng: Random) -> None:
    """Check that each page taken has the largest value of all that may be taken."""
    world = SiblingWorld(SITES)
    world.begin(range(HOSTS), 20)
    for _ in range(60):
        world.queue.look()
        best = world.best()
        page = world.take()
        if page is None:
            assert best == 0
        else:
            assert world.truth.value(page) >= best * EXACT
            assert world.queue.key(page) == pytest.approx(16 * world.truth.value(page), rel=1e-3)
        assert set(world.queue.leased) == world.leased
        for host in range(HOSTS):
            assert world.queue.is_ready(host) == (host not in world.paused)
        go_on(world, rng)
    assert world.ledger.missing() == 0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1 << 30))
def test_a_loaded_queue_continues_like_the_original(seed: int) -> None:
    rng = Random(seed)
    world = SiblingWorld(SITES)
    world.begin(range(HOSTS))
    world.foretold(0, [1, 2], 4)
    world.vouch(3)
    for _ in range(30):
        page = world.take()
        if page is not None:
            live(world, rng, page)
        for host in range(HOSTS):
            world.resume(host)
    for page in sorted(world.leased):
        world.put_back(page)
    restored = Siblings(world.ledger, world.host_of, SitesByHost(SITES))
    restored.restore(world.siblings.state(), len(world.ledger))
    assert restored.state() == world.siblings.state()
    world.queue.look()
    again = ByGroup(restored)
    again.load()
    while (page := world.take()) is not None:
        assert again.take() == page
        world.resume(world.host_of[page])
        again.resume(world.host_of[page])
    assert again.take() is None


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 30))
def test_by_sites_the_best_page_of_the_most_important_site_is_taken(seed: int) -> None:
    importance, rng = np.array([2.0, 3.0, 3.0, 9.0, 1.0]), Random(seed)
    world = SiblingWorld(SITES, lambda: importance)
    world.begin(list(range(HOSTS)) * 4, 20)
    for _ in range(60):
        world.queue.look()
        pages = world.candidates()
        most = max((importance[world.host_of[page]] for page in pages), default=0)
        of_best_site = [page for page in pages if importance[world.host_of[page]] == most]
        page = world.take()
        if page is None:
            assert not pages
        else:
            assert page in of_best_site
            assert world.queue.key(page) == max(map(world.queue.key, of_best_site))
        go_on(world, rng, is_disturbed=False)


def test_of_many_hosts_only_large_ones_keep_candidates() -> None:
    few, many = SiblingWorld(range(5000)), SiblingWorld(range(5000))
    many.birth([4999])
    for world in (few, many):
        for _ in range(30):
            world.birth([0])
        world.take()
        world.resume(0)
    assert len(few.queue.hosts) > 10 > len(many.queue.hosts)


class Doubled(Siblings):
    """Siblings that tell another object what they are told; that one counts gifts at once."""

    at_once: Siblings
    is_within = False

    def _tell(self, name: str, *arguments: Any, **more: Any) -> None:
        was_within, self.is_within = self.is_within, True
        getattr(super(), name)(*arguments, **more)
        self.is_within = was_within
        if not was_within:  # calls from within happen in the other object by themselves
            getattr(self.at_once, name)(*arguments, **more)
            self.at_once.count_gifts()

    introduce = partialmethod(_tell, "introduce")
    foretell = partialmethod(_tell, "foretell")
    end_turn = partialmethod(_tell, "end_turn")
    vouch = partialmethod(_tell, "vouch")
    spend_again = partialmethod(_tell, "spend_again")


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1 << 30))
def test_the_time_of_counting_gifts_does_not_change_their_sums(seed: int) -> None:
    rng, world = Random(seed), SiblingWorld(SITES, siblings=Doubled)
    at_once = Siblings(world.ledger, world.host_of, SitesByHost(SITES))
    assert isinstance(world.siblings, Doubled)
    world.siblings.at_once = at_once
    world.begin(range(HOSTS), 20)
    for _ in range(40):
        if (page := world.take()) is not None:
            live(world, rng, page)
        disturb(world, rng)
        for host in sorted(world.paused):
            world.resume(host)
    assert world.siblings.state() == at_once.state()
