"""Live shares of hosts and of siblings, computed by hand."""

from array import array

import numpy as np
import pytest

from minicrawl.opic.ledger.ledger import Ledger
from minicrawl.opic.siblings import values
from minicrawl.opic.siblings.groups import NO_GROUP
from minicrawl.opic.siblings.live_shares import LiveShares
from minicrawl.opic.siblings.siblings import Siblings
from tests.opic.sibling_worlds import SiblingWorld, SitesByHost


def after(*answers: tuple[int, bool]) -> LiveShares:
    """Return the shares after answers: the host, and whether the page was dead."""
    shares = LiveShares()
    for host, is_dead in answers:
        shares.count(host, is_dead=is_dead)
    return shares


def test_the_share_of_a_host_falls_with_its_dead_pages_and_rises_with_others() -> None:
    shares = after((0, False), (2, True))
    assert [shares.of(host) for host in range(4)] == [1, 1, 0.5, 1]
    assert shares.of_many(np.arange(4, dtype=np.uint32)).tolist() == [1, 1, 0.5, 1]
    assert not shares.count(2, is_dead=True)
    assert shares.of(2) == pytest.approx(1 / 3)
    assert shares.count(2, is_dead=False)
    assert shares.of(2) == 0.5


def test_a_share_stays_until_it_has_moved_by_an_eighth() -> None:
    shares = after(*[(0, False)] * 9, (0, True))
    assert shares.of(0) == 1  # and not 10 / 11
    assert not shares.holds_back
    shares.count(0, is_dead=True)
    assert shares.of(0) == pytest.approx(10 / 12)
    assert shares.holds_back


def test_siblings_of_dead_pages_are_likely_to_be_dead() -> None:
    """The example of the module."""
    made = SiblingWorld(range(3))
    made.birth([0])
    made.visit(0, [], [1, 1, 1, 2])
    group = made.siblings.group_of(1)
    lone = made.birth([1]).start
    for page in (1, 2, lone):
        made.fail(page)
    assert made.siblings.live.of(1) == 0.25
    assert values.live_share(made.siblings, group, 1) == pytest.approx(0.15)
    assert values.live_share(made.siblings, NO_GROUP, 1) == 0.25
    assert made.take() == 4  # of the other host
    assert made.take() == 3  # dead or not, it has its turn


def test_a_restored_state_goes_on_as_before_and_an_older_one_from_now_on() -> None:
    made, hosts = SiblingWorld(range(3)), array("I", [0, 0, 0])
    made.birth(hosts)
    made.fail(0)
    state = made.siblings.state()
    again = Siblings(Ledger(), hosts, SitesByHost(range(3)))
    again.restore(state, 3)
    assert again.state() == state
    assert values.live_share(again, 0, 0) == values.live_share(made.siblings, 0, 0) < 1
    older = {name: data for name, data in state.items() if name[:4] not in ("live", "dead")}
    again = Siblings(Ledger(), hosts, SitesByHost(range(3)))
    again.restore(older, 3)
    assert values.live_share(again, 0, 0) == 1
