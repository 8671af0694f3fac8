"""Delays and limits of hosts; every host that waits is resumed."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.config import Politeness, Settings
from minicrawl.crawl.hosts.politeness import HostTable, change_delays
from minicrawl.model import FailureKind
from minicrawl.web.robots import Rules
from tests.crawl.hosts.polite import HOST, OTHER, THIRD, Polite

# ---------------------------------------------------------------- pauses


def test_the_delay_lies_between_the_end_of_a_request_and_the_start_of_the_next() -> None:
    polite = Polite(delay_s=1)
    polite.request(HOST, began=10, ended=15)
    assert polite.hosts.next_wake() == 16
    assert polite.resumed(15.9) == []
    assert polite.resumed(16) == [HOST]
    assert polite.hosts.next_wake() is None


def test_a_host_that_another_process_may_have_requested_waits_for_its_delay() -> None:
    polite = Polite(delay_s=1)
    polite.hosts.spare(HOST, 10)
    assert not polite.hosts.may_be_asked(HOST, 10.9)
    assert polite.hosts.may_be_asked(HOST, 11)


def test_a_longer_delay_makes_no_host_count_as_requested() -> None:
    polite = Polite(delay_s=1)
    polite.request(HOST, began=10, ended=15)
    unasked = polite.hosts[OTHER].shared
    change_delays(polite.hosts, Settings(politeness=Politeness(delay_s=3)), 15.5)
    assert polite.hosts[HOST].ready_at == 18
    assert not unasked.was_asked


def test_a_strike_against_an_origin_does_not_count_for_others_of_its_name() -> None:
    polite = Polite(delay_s=1)
    polite.hosts = HostTable(Politeness(delay_s=1), polite.resumed_hosts.append, "aab".__getitem__)
    polite.strike(HOST, 0, FailureKind.CONNECT, 100)
    assert not polite.hosts.may_be_asked(HOST, 50)
    assert polite.hosts.may_be_asked(OTHER, 0)


@pytest.mark.parametrize(
    ("own_s", "asked_s", "delay_s"),
    [(1, None, 1), (1, 0.5, 1), (1, 5, 5), (1, 60, 60), (1, 86_400, 60), (100, 50, 100)],
)
def test_the_larger_of_both_delays_counts_but_a_crawl_delay_is_capped(
    own_s: float, asked_s: float | None, delay_s: float
) -> None:
    polite = Polite(delay_s=own_s)
    polite.hosts[HOST].rules = Rules(crawl_delay_s=asked_s)
    assert polite.hosts[HOST].delay_s(polite.settings) == delay_s


# ---------------------------------------------------------------- side requests


def test_a_side_request_is_called_before_the_hosts_own_pages_and_once() -> None:
    polite = Polite(delay_s=1)
    called: list[str] = []
    for name in ("one", "two"):
        polite.hosts.queue_side_request(HOST, partial(called.append, name))
    for end in (1, 3, 5):
        polite.request(HOST, began=end - 1, ended=end)
        assert polite.resumed(end + 0.9) == []
        resumed = polite.resumed(end + 1)
        assert (called, resumed) == (["one", "two"][: (end + 1) // 2], [] if end < 5 else [HOST])


# ---------------------------------------------------------------- properties


class Town:
    """Four hosts at two addresses, which get requests whenever they may, one for each `lasts_s`."""

    def __init__(self, polite: Polite, lasts_s: list[float]) -> None:
        self.hosts, self._polite, self._lasts_s = polite.hosts, polite, lasts_s
        for host in range(4):
            self.hosts[host].move_to(f"192.0.2.{host % 2}")
        self.requests: list[tuple[int, float, float]] = []
        self._under_way: list[tuple[float, int]] = []
        self._ready = {0, 1, 2, 3}
        self.now = 0.0

    def live(self) -> None:
        """Send all requests, and go on until nothing happens any more."""
        moment: float | None = 0.0
        while moment is not None:
            self.now = max(self.now, moment)
            for ending in [one for one in self._under_way if one[0] <= self.now]:
                self._under_way.remove(ending)
                self.hosts.end(ending[1], self.now)
            self._ready |= set(self._polite.resumed(self.now))
            self._ask()
            wake = self.hosts.next_wake()
            times = [ends for ends, _ in self._under_way] + ([] if wake is None else [wake])
            moment = min(times, default=None)

    def _ask(self) -> None:
        asked = [host for host, _, _ in self.requests]
        for host in sorted(self._ready, key=asked.count):
            if not self._lasts_s:
                break
            if not self.hosts.has_room(host, self.now):
                self.hosts.wait_for_room(host, self.now)
                continue
            ends = self.now + self._lasts_s.pop()
            self.hosts.begin(host, self.now)
            self._under_way.append((ends, host))
            self.requests.append((host, self.now, ends))
        self._ready.clear()

    def most_at_once(self, same: Callable[[int, int], bool]) -> int:
        return max(
            sum(same(host, other) and b <= began < e for other, b, e in self.requests)
            for host, began, _ in self.requests
        )


@given(
    per_host=st.integers(1, 3),
    per_address=st.integers(1, 3),
    delays_s=st.lists(st.just(0.0) | st.floats(0, 5), min_size=4, max_size=4),
    pause_s=st.sampled_from((0.0, 0.25)),
    lasts_s=st.lists(st.sampled_from((0.5, 1.0, 3.0)), min_size=12, max_size=40),
)
def test_limits_and_delays_are_kept_and_no_host_is_forgotten(
    per_host: int, per_address: int, delays_s: list[float], pause_s: float, lasts_s: list[float]
) -> None:
    count = len(lasts_s)
    limits = {"per_host": per_host, "per_address": per_address}
    town = Town(Polite(delay_s=0, address_delay_s=pause_s, **limits), lasts_s)
    for host, delay_s in enumerate(delays_s):
        town.hosts[host].rules = Rules(crawl_delay_s=delay_s)
    town.live()
    assert len(town.requests) == count
    assert {host for host, _, _ in town.requests} == {0, 1, 2, 3}
    assert town.most_at_once(lambda one, other: one == other) <= per_host
    assert town.most_at_once(lambda one, other: one % 2 == other % 2) <= per_address
    for host, delay_s in enumerate(delays_s):
        mine = [(began, ends) for other, began, ends in town.requests if other == host]
        for (began, ends), (next_one, _) in pairwise(mine):
            assert next_one >= (ends if per_host == 1 else began) + delay_s
    for address in range(2):
        starts = [began for host, began, _ in town.requests if host % 2 == address]
        assert all(later >= earlier + pause_s for earlier, later in pairwise(starts))


# ---------------------------------------------------------------- expensive hosts


def test_a_host_that_costs_more_than_others_waits_longer() -> None:
    polite = Polite(delay_s=1)
    for host in (OTHER, THIRD):
        polite.hosts.charge(host, 0.0005, 0)
    polite.request(HOST, 0, 1)
    polite.hosts.charge(HOST, 2.002, 1)
    assert not polite.hosts.may_be_asked(HOST, 4.9)
    assert polite.hosts.may_be_asked(HOST, 5.1)
    assert polite.hosts.may_be_asked(OTHER, 1)
    polite.hosts.charge(HOST, 100_000, 6, was_asked=False)
    assert polite.hosts.may_be_asked(HOST, 6 + Politeness().max_pause_s)


def test_while_no_other_host_is_due_an_expensive_one_does_not_wait() -> None:
    polite = Polite(delay_s=1)
    for host in (OTHER, THIRD):
        polite.hosts.charge(host, 0.0005, 0)
        polite.request(host, 0, 1)
    polite.request(HOST, 0, 1)
    polite.hosts.charge(HOST, 50, 1)
    assert not polite.hosts.release_expensive(1.9)  # the others are due
    assert polite.resumed(2) == [OTHER, THIRD]
    assert not polite.hosts.may_be_asked(HOST, 50)
    polite.resumed(50)
    assert polite.hosts.release_expensive(50)
    assert polite.resumed(50) == [HOST]
    assert not polite.hosts.release_expensive(50)


def test_a_host_is_not_resumed_while_a_large_body_of_it_is_parsed() -> None:
    polite = Polite(delay_s=1)
    polite.hosts.begin(HOST, 0)
    polite.hosts.begin_reading(HOST)
    polite.hosts.end(HOST, 1)
    assert polite.resumed(10) == []
    assert not polite.hosts.may_be_asked(HOST, 10)
    polite.hosts.end_reading(HOST, 10)
    assert polite.resumed(10) == [HOST]
