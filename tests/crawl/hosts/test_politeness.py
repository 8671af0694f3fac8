from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.config import Politeness, Settings
from minicrawl.crawl.hosts.politeness import HostTable, address_delay, hosts_of
from minicrawl.model import Failed, FailureKind, Response, State, Unchanged
from minicrawl.web.robots.rules import Rules

HOST, OTHER, THIRD = 0, 1, 2


class Polite:
    """Hosts, and who was told that it may be asked."""

    def __init__(self, **settings: Any) -> None:
        self.resumed: list[int] = []
        self.hosts = HostTable(Politeness(**settings), self.resumed.append)

    def told(self, now: float) -> list[int]:
        """Who is told by now, and was not before."""
        self.hosts.wake(now)
        told, self.resumed[:] = list(self.resumed), []
        return told

    def waits(self, host: int, now: float) -> bool:
        """Whether its address is full, so that the host is one of those that wait for it."""
        if self.hosts.has_room(host, now):
            return False
        self.hosts.wait_for_room(host, now)
        return True

    def request(self, host: int, began: float, ended: float) -> None:
        self.hosts.begin(host, began)
        self.hosts.end(host, ended)


def at_one_address(*hosts: int, per_address: int = 1, per_host: int = 1) -> Polite:
    polite = Polite(delay_s=0, address_delay_s=0, per_address=per_address, per_host=per_host)
    for host in hosts:
        polite.hosts.found_at(host, "192.0.2.1")
    return polite


# ---------------------------------------------------------------- pauses


def test_the_delay_lies_between_the_end_of_a_request_and_the_start_of_the_next() -> None:
    polite = Polite(delay_s=1)
    polite.request(HOST, began=10, ended=15)
    assert polite.hosts.next_wake() == 16
    assert polite.told(15.9) == []
    assert polite.told(16) == [HOST]
    assert polite.hosts.next_wake() is None


def test_origins_of_one_name_are_one_host() -> None:
    polite = Polite(delay_s=1)
    polite.hosts = HostTable(Politeness(delay_s=1), polite.resumed.append, "aab".__getitem__)
    polite.hosts.begin(HOST, 0)
    assert not polite.hosts.may_be_asked(OTHER, 5)
    assert polite.hosts.may_be_asked(THIRD, 5)
    polite.hosts.resume_when_ready(OTHER, 5)
    polite.hosts.end(HOST, 6)
    assert not polite.hosts.may_be_asked(OTHER, 6.9)
    assert sorted(polite.told(7)) == [HOST, OTHER]
    assert polite.hosts.may_be_asked(OTHER, 7)


def test_trouble_with_one_origin_is_none_of_another_of_the_same_name() -> None:
    polite = Polite(delay_s=1)
    polite.hosts = HostTable(Politeness(delay_s=1), polite.resumed.append, "aab".__getitem__)
    polite.hosts.strike(HOST, 0, FailureKind.CONNECT, 100)
    assert not polite.hosts.may_be_asked(HOST, 50)
    assert polite.hosts.may_be_asked(OTHER, 0)


def test_a_host_is_not_asked_while_a_request_to_it_is_under_way() -> None:
    polite = Polite(delay_s=1)
    polite.hosts.begin(HOST, 0)
    polite.hosts.resume_when_ready(HOST, 100)
    assert polite.told(100) == []


def test_without_a_delay_a_host_may_be_asked_as_soon_as_it_answered() -> None:
    polite = Polite(delay_s=0)
    polite.request(HOST, began=0, ended=5)
    assert polite.told(5) == [HOST]


def test_two_requests_at_once_begin_a_delay_apart() -> None:
    polite = Polite(delay_s=1, per_host=2)
    polite.hosts.begin(HOST, 0)
    assert polite.told(0.9) == []
    assert polite.told(1) == [HOST]
    polite.hosts.begin(HOST, 1)
    assert polite.told(50) == []


@pytest.mark.parametrize(
    ("asked_s", "delay_s"), [(None, 1), (0.5, 1), (5, 5), (60, 60), (86_400, 60)]
)
def test_the_larger_of_both_delays_counts_but_a_crawl_delay_is_capped(
    asked_s: float | None, delay_s: float
) -> None:
    polite = Polite(delay_s=1)
    polite.hosts[HOST].rules = Rules(crawl_delay_s=asked_s)
    assert polite.hosts.delay_s(HOST) == delay_s


def test_our_own_delay_may_be_longer_than_the_cap() -> None:
    hosts = HostTable(Politeness(delay_s=100, max_delay_s=10), lambda _: None)
    hosts[HOST].rules = Rules(crawl_delay_s=50)
    assert hosts.delay_s(HOST) == 100


# ---------------------------------------------------------------- trouble


def test_each_strike_doubles_the_pause() -> None:
    polite = Polite(delay_s=0)
    pauses = []
    for _ in range(5):
        polite.hosts.strike(HOST, 0, FailureKind.TIMEOUT, None)
        pauses.append(polite.hosts[HOST].ready_at)
    assert pauses == [1, 2, 4, 8, 16]


def test_no_pause_is_longer_than_the_longest() -> None:
    polite = Polite(max_pause_s=100)
    for _ in range(100):
        polite.hosts.strike(HOST, 0, FailureKind.RESET, None)
    assert polite.hosts[HOST].ready_at == 100
    polite.hosts.strike(HOST, 10, FailureKind.THROTTLED, 5000)
    assert polite.hosts[HOST].ready_at == 110


def test_success_takes_half_of_the_strikes_away() -> None:
    polite = Polite(delay_s=0)
    for _ in range(4):
        polite.hosts.strike(HOST, 0, FailureKind.RESET, None)
    polite.hosts.heal(HOST)
    assert polite.hosts[HOST].strikes == 2
    polite.hosts.strike(HOST, 100, FailureKind.RESET, None)
    assert polite.hosts[HOST].ready_at == 104


@pytest.mark.parametrize(("asked_s", "ready_at"), [(30, 30), (0.5, 0.5), (3600, 3600)])
def test_the_pause_that_a_host_asks_for_is_kept(asked_s: float, ready_at: float) -> None:
    polite = Polite(delay_s=0)
    polite.hosts.begin(HOST, 0)
    polite.hosts.strike(HOST, 0, FailureKind.THROTTLED, asked_s)
    polite.hosts.end(HOST, 0)
    assert polite.told(ready_at - 0.1) == []
    assert polite.told(ready_at) == [HOST]


def test_a_pause_is_never_cut_short_by_another_request() -> None:
    polite = Polite(delay_s=1, per_host=3)
    polite.hosts.begin(HOST, 0)
    polite.hosts.begin(HOST, 1)
    polite.hosts.strike(HOST, 2, FailureKind.THROTTLED, 60)
    polite.hosts.begin(HOST, 3)
    polite.hosts.end(HOST, 4)
    polite.resumed.clear()
    assert polite.told(61.9) == []
    assert set(polite.told(62)) == {HOST}


def test_a_host_that_fails_again_and_again_is_down_for_the_longest_pause() -> None:
    polite = Polite(max_strikes=3, max_pause_s=100)
    for now in range(3):
        assert polite.hosts.trouble(HOST, now) is None
        polite.hosts.strike(HOST, now, FailureKind.CONNECT, None)
    assert polite.hosts.trouble(HOST, 101) is State.CONNECT
    assert polite.hosts.trouble(HOST, 102) is None


def test_a_host_that_answers_is_not_down() -> None:
    polite = Polite()
    polite.hosts.put_down(HOST, 0, State.DNS)
    polite.hosts.heal(HOST)
    assert polite.hosts.trouble(HOST, 1) is None


# ---------------------------------------------------------------- addresses


def test_an_address_has_a_limit_over_all_its_hosts() -> None:
    polite = at_one_address(HOST, OTHER, THIRD, per_address=2)
    for host in (HOST, OTHER):
        assert polite.hosts.has_room(host, 0)
        polite.hosts.begin(host, 0)
    assert polite.waits(THIRD, 0)
    assert polite.told(100) == []
    polite.hosts.end(HOST, 100)
    assert THIRD in polite.told(100)
    assert polite.hosts.has_room(THIRD, 100)


def test_a_host_whose_address_is_not_known_has_room() -> None:
    polite = Polite(per_address=1)
    polite.request(HOST, 0, 1)
    assert polite.hosts.has_room(HOST, 2)


def test_whoever_waits_for_an_address_is_told_even_if_the_one_before_does_not_use_it() -> None:
    polite = at_one_address(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    assert polite.waits(OTHER, 2)
    assert polite.waits(THIRD, 2)
    polite.hosts.end(HOST, 1)
    polite.resumed.clear()
    told: set[int] = set()
    while (now := polite.hosts.next_wake()) is not None:
        told |= set(polite.told(max(now, 1)))
    assert told == {OTHER, THIRD}


def test_a_host_that_waits_twice_takes_one_place_in_the_line() -> None:
    polite = at_one_address(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    for host in (OTHER, OTHER, THIRD):
        polite.waits(host, 2)
    for leaving, arriving in ((HOST, OTHER), (OTHER, THIRD)):
        polite.hosts.end(leaving, 1)
        assert arriving in polite.told(1)
        polite.hosts.begin(arriving, 1)


def test_hosts_at_a_full_address_do_not_keep_the_loop_awake() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.hosts.begin(HOST, 0)
    polite.waits(OTHER, 2)
    assert polite.hosts.next_wake() is None


def test_a_place_that_is_taken_again_at_once_wakes_nobody() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.hosts.begin(HOST, 0)
    polite.waits(OTHER, 2)
    polite.request(HOST, 0, 1)
    polite.resumed.clear()
    assert polite.told(1) == []
    assert polite.hosts.next_wake() is None


def test_a_host_may_move_to_another_address_between_two_requests() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.request(HOST, 0, 1)
    polite.hosts.found_at(HOST, "192.0.2.2")
    polite.hosts.begin(HOST, 2)
    assert polite.hosts.has_room(OTHER, 2)


def test_a_request_under_way_stays_on_the_account_of_its_address() -> None:
    polite = at_one_address(HOST, OTHER, per_host=2)
    polite.hosts.begin(HOST, 0)
    polite.hosts.found_at(HOST, "192.0.2.2")
    assert polite.waits(OTHER, 2)
    polite.hosts.end(HOST, 1)
    assert polite.hosts.has_room(OTHER, 2)
    assert polite.hosts.has_room(HOST, 2)


# ---------------------------------------------------------------- guests


def test_a_guest_is_called_before_the_hosts_own_pages_and_once() -> None:
    polite = Polite(delay_s=1)
    called: list[str] = []
    for guest in ("one", "two"):
        polite.hosts.invite(HOST, partial(called.append, guest))
    for end in (1, 3, 5):
        polite.request(HOST, began=end - 1, ended=end)
        assert polite.told(end + 0.9) == []
        told = polite.told(end + 1)
        assert (called, told) == (["one", "two"][: (end + 1) // 2], [] if end < 5 else [HOST])


def test_a_host_may_be_asked_when_its_delay_is_over_and_it_has_a_connection_to_spare() -> None:
    polite = Polite(delay_s=1, per_host=1)
    polite.hosts.begin(HOST, 0)
    assert not polite.hosts.may_be_asked(HOST, 2)
    polite.hosts.end(HOST, 3)
    assert not polite.hosts.may_be_asked(HOST, 3.9)
    assert polite.hosts.may_be_asked(HOST, 4)


# ---------------------------------------------------------------- all together


class Town:
    """Four hosts at two addresses; each is asked whenever its clock allows, so many times."""

    def __init__(self, polite: Polite, lasts_s: list[float]) -> None:
        self.hosts, self._polite, self._lasts_s = polite.hosts, polite, lasts_s
        for host in range(4):
            self.hosts.found_at(host, f"192.0.2.{host % 2}")
        self.requests: list[tuple[int, float, float]] = []
        self._under_way: list[tuple[float, int]] = []
        self._ready = {0, 1, 2, 3}
        self.now = 0.0

    def live(self) -> None:
        """Until nothing happens any more."""
        moment: float | None = 0.0
        while moment is not None:
            self.now = max(self.now, moment)
            for ending in [one for one in self._under_way if one[0] <= self.now]:
                self._under_way.remove(ending)
                self.hosts.end(ending[1], self.now)
            self._ready |= set(self._polite.told(self.now))
            self._ask()
            wake = self.hosts.next_wake()
            times = [ends for ends, _ in self._under_way] + ([] if wake is None else [wake])
            moment = min(times, default=None)

    def _ask(self) -> None:
        asked = [host for host, _, _ in self.requests]
        for host in sorted(self._ready, key=asked.count):
            if self._lasts_s and not self._polite.waits(host, self.now):
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
    delays_s=st.lists(st.floats(0, 5), min_size=4, max_size=4),
    lasts_s=st.lists(st.sampled_from((0.5, 1.0, 3.0)), min_size=12, max_size=40),
)
def test_whatever_happens_limits_and_delays_are_kept_and_nobody_is_forgotten(
    per_host: int, per_address: int, delays_s: list[float], lasts_s: list[float]
) -> None:
    count = len(lasts_s)
    town = Town(
        Polite(delay_s=0, address_delay_s=0, per_host=per_host, per_address=per_address), lasts_s
    )
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


# ---------------------------------------------------------------- the pace of an address


def paced(*hosts: int, **settings: Any) -> Polite:
    polite = Polite(**{"delay_s": 0, "per_address": 8, "address_delay_s": 0.5, **settings})
    for host in hosts:
        polite.hosts.found_at(host, "192.0.2.1")
    return polite


def test_requests_to_one_address_begin_a_pause_apart_whatever_the_names() -> None:
    polite = paced(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    assert polite.waits(OTHER, 0.4)
    assert polite.waits(THIRD, 0.4)
    assert polite.hosts.next_wake() == 0.5
    assert polite.told(0.4) == []
    assert polite.told(0.5) == [OTHER]
    assert polite.hosts.has_room(OTHER, 0.5)
    polite.hosts.begin(OTHER, 0.5)
    assert polite.told(0.9) == []
    assert polite.hosts.next_wake() == 1.0
    assert polite.told(1.0) == [THIRD]
    assert polite.hosts.next_wake() is None


def test_whoever_is_let_in_and_does_not_go_keeps_nobody_from_it() -> None:
    polite = paced(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    for host in (OTHER, THIRD):
        polite.waits(host, 0)
    assert polite.told(0.5) == [OTHER]
    assert polite.told(0.5) == [THIRD]


def test_without_a_pause_an_address_takes_as_many_at_once_as_it_may() -> None:
    polite = paced(HOST, OTHER, address_delay_s=0)
    polite.hosts.begin(HOST, 0)
    assert polite.hosts.has_room(OTHER, 0)


@pytest.mark.parametrize(
    ("delay_s", "address", "pause_s"),
    [
        (1, "192.0.2.1", 0.1),
        (1, "127.0.0.1", 0.1),
        (1, "203.0.113.9", 0.1),
        (0, "192.0.2.1", 0.1),
        (0, "127.0.0.7", 0),
        (0, "::1", 0),
        (0, "203.0.113.9", 0),
        (0, "no address", 0.1),
    ],
)
def test_only_ones_own_addresses_are_asked_at_any_pace_and_only_without_a_delay(
    delay_s: float, address: str, pause_s: float
) -> None:
    pause_of = address_delay(Politeness(delay_s=delay_s), ["203.0.113.9"])
    assert pause_of(address) == pause_s


def test_addresses_of_which_nothing_is_wanted_any_more_are_forgotten() -> None:
    polite = Polite(delay_s=0, address_delay_s=0.5)
    for host in range(5000):
        polite.hosts.found_at(host, f"192.0.2.{host}")
        polite.waits(host, host)
        polite.hosts.begin(host, host)
        polite.hosts.end(host, host)
    assert len(polite.hosts._addresses) < 2000


# ---------------------------------------------------------------- what a host costs


def test_a_host_that_costs_more_than_others_waits_longer() -> None:
    polite = Polite(delay_s=1)
    for host in (OTHER, THIRD):
        polite.hosts.charge(host, 0.0005, 0)
    polite.request(HOST, 0, 1)
    polite.hosts.charge(HOST, 2.002, 1)
    assert not polite.hosts.may_be_asked(HOST, 4.9)
    assert polite.hosts.may_be_asked(HOST, 5.1)
    assert polite.hosts.may_be_asked(OTHER, 1)
    polite.hosts.charge_unasked(HOST, 100_000, 6)
    assert polite.hosts.may_be_asked(HOST, 6 + Politeness().max_pause_s)


def test_while_nobody_else_is_due_an_expensive_host_does_not_wait() -> None:
    polite = Polite(delay_s=1)
    for host in (OTHER, THIRD):
        polite.hosts.charge(host, 0.0005, 0)
        polite.request(host, 0, 1)
    polite.request(HOST, 0, 1)
    polite.hosts.charge(HOST, 50, 1)
    assert not polite.hosts.release_expensive(1.9)  # the others are due
    assert polite.told(2) == [OTHER, THIRD]
    assert not polite.hosts.may_be_asked(HOST, 50)
    polite.told(50)
    assert polite.hosts.release_expensive(50)
    assert polite.told(50) == [HOST]
    assert not polite.hosts.release_expensive(50)


def test_a_host_is_not_asked_while_a_large_body_of_it_is_read() -> None:
    polite = Polite(delay_s=1)
    polite.hosts.begin(HOST, 0)
    polite.hosts.begin_reading(HOST)
    polite.hosts.end(HOST, 1)
    assert polite.told(10) == []
    assert not polite.hosts.may_be_asked(HOST, 10)
    polite.hosts.end_reading(HOST, 10)
    assert polite.told(10) == [HOST]


def test_ports_of_a_name_are_one_host() -> None:
    origins = ["http://a.example", "https://a.example:8443", "http://b.example"]
    hosts = hosts_of(Settings.of(delay=1), origins, lambda _: None)
    hosts.begin(0, 0)
    assert not hosts.may_be_asked(1, 5)
    assert hosts.may_be_asked(2, 5)


def test_who_did_not_answer_in_time_does_not_answer() -> None:
    hosts = Polite().hosts
    page = Response(status=200, headers={}, body=b"")
    assert not hosts.answers(HOST)
    for heard, answers in (
        (Failed(kind=FailureKind.RESET), False),
        (Failed(kind=FailureKind.NOT_FOUND), True),
        (Failed(kind=FailureKind.RESET), True),
        (Failed(kind=FailureKind.TIMEOUT), False),
        (page, True),
        (page._replace(cut=FailureKind.TIMEOUT), False),
        (Unchanged(), True),
        (Failed(kind=FailureKind.DNS), False),
    ):
        hosts.heard(HOST, heard)
        assert hosts.answers(HOST) is answers
