"""Delays, strikes and limits of hosts; every host that waits is resumed."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from minicrawl import Settings
from minicrawl.config import Politeness
from minicrawl.crawl.hosts.addresses import address_delay
from minicrawl.crawl.hosts.host import Host, NameState
from minicrawl.crawl.hosts.politeness import HostTable, change_delays
from minicrawl.model import Failed, Response, Unchanged
from minicrawl.states import State
from minicrawl.web.robots.rules import Rules
from tests.crawl.jumping_clock import FakeClock

HOST, OTHER, THIRD = 0, 1, 2
ADDRESS = "192.0.2.1"
ORIGINS = [f"http://{number}.example" for number in range(5000)]


class Polite:
    """A table of hosts, and a list of the hosts that it resumed."""

    def __init__(self, **settings: Any) -> None:
        self.resumed_hosts: list[int] = []
        self.settings = Politeness(**settings)
        self.hosts = HostTable(self.settings, self.resumed_hosts.append, ORIGINS)

    def resumed(self, now: float) -> list[int]:
        """Wake hosts, and return those that were resumed since the last call."""
        self.hosts.wake(now)
        resumed, self.resumed_hosts[:] = list(self.resumed_hosts), []
        return resumed

    def request(self, host: int, began: float, ended: float) -> None:
        self.hosts.begin(self.hosts[host], began)
        self.hosts.end(self.hosts[host], ended)

    def strike(self, host: int, now: float, kind: State, wait_s: float | None = None) -> None:
        self.hosts[host].strike(now, kind, wait_s)

    def has_room_or_waits(self, host: int, now: float) -> bool:
        """Return whether the host's address has room. If not, the host waits for it."""
        if self.hosts.has_room(self.hosts[host], now):
            return True
        self.hosts.wait_for_room(self.hosts[host], now)
        return False


def at_one_address(*hosts: int, **settings: int) -> Polite:
    """Return hosts at an address that is full: a request to the first one is under way."""
    return paced(*hosts, **{"address_delay_s": 0, "per_address": 1, **settings})


def paced(*hosts: int, **settings: int) -> Polite:
    """Return hosts at an address that was requested at 0 s, by a request to the first one."""
    polite = Polite(**{"delay_s": 0, "per_address": 8, "address_delay_s": 0.5, **settings})
    for host in hosts:
        polite.hosts[host].move_to(ADDRESS)
    polite.hosts.begin(polite.hosts[hosts[0]], 0)
    return polite


def test_a_longer_delay_makes_no_host_count_as_requested() -> None:
    polite = Polite(delay_s=1)
    polite.request(HOST, began=10, ended=15)
    new = polite.hosts[OTHER].shared
    change_delays(polite.hosts, Settings(politeness=Politeness(delay_s=3)), 15.5)
    assert polite.hosts[HOST].ready_at == 18
    assert not new.was_requested


def test_a_strike_against_an_origin_does_not_count_for_others_of_its_name() -> None:
    polite = Polite(delay_s=1)
    origins = ("http://a.example", "https://a.example")
    polite.hosts = HostTable(polite.settings, polite.resumed_hosts.append, origins)
    polite.strike(HOST, 0, State.CONNECT, 100)
    assert not polite.hosts.may_be_asked(polite.hosts[HOST], 50)
    assert polite.hosts.may_be_asked(polite.hosts[OTHER], 0)


@pytest.mark.parametrize(
    ("own_s", "asked_s", "delay_s"),
    [(1, None, 1), (1, 0.5, 1), (1, 5, 5), (1, 60, 60), (1, 86_400, 60), (100, 50, 100)],
)
def test_the_larger_of_both_delays_counts_but_a_crawl_delay_is_capped(
    own_s: float, asked_s: float | None, delay_s: float
) -> None:
    polite = Polite(delay_s=own_s)
    polite.hosts[HOST].rules = Rules(crawl_delay_s=asked_s)
    assert polite.hosts[HOST].delay_s == delay_s


def test_a_side_request_is_called_before_the_hosts_own_pages_and_once() -> None:
    polite = Polite(delay_s=1)
    called: list[str] = []
    for name in ("one", "two"):
        polite.hosts.queue_side_request(polite.hosts[HOST], partial(called.append, name))
    for end in (1, 3, 5):
        polite.request(HOST, began=end - 1, ended=end)
        assert polite.resumed(end + 0.9) == []
        resumed = polite.resumed(end + 1)
        assert (called, resumed) == (["one", "two"][: (end + 1) // 2], [] if end < 5 else [HOST])


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
                self.hosts.end(self.hosts[ending[1]], self.now)
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
            if not self.hosts.has_room(self.hosts[host], self.now):
                self.hosts.wait_for_room(self.hosts[host], self.now)
                continue
            ends = self.now + self._lasts_s.pop()
            self.hosts.begin(self.hosts[host], self.now)
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


def test_a_host_that_costs_more_than_others_waits_longer() -> None:
    polite = Polite(delay_s=1)
    for host in (OTHER, THIRD):
        polite.hosts.charge(polite.hosts[host], 0.0005, 0)
    polite.request(HOST, 0, 1)
    polite.hosts.charge(polite.hosts[HOST], 2.002, 1)
    assert not polite.hosts.may_be_asked(polite.hosts[HOST], 4.9)
    assert polite.hosts.may_be_asked(polite.hosts[HOST], 5.1)
    assert polite.hosts.may_be_asked(polite.hosts[OTHER], 1)
    polite.hosts.charge(polite.hosts[HOST], 100_000, 6, was_requested=False)
    assert polite.hosts.may_be_asked(polite.hosts[HOST], 6 + Politeness().max_pause_s)


def test_while_no_other_host_is_due_an_expensive_one_does_not_wait() -> None:
    polite = Polite(delay_s=1)
    for host in (OTHER, THIRD):
        polite.hosts.charge(polite.hosts[host], 0.0005, 0)
        polite.request(host, 0, 1)
    polite.request(HOST, 0, 1)
    polite.hosts.charge(polite.hosts[HOST], 50, 1)
    assert not polite.hosts.release_expensive(1.9)  # the others are due
    assert polite.resumed(2) == [OTHER, THIRD]
    assert not polite.hosts.may_be_asked(polite.hosts[HOST], 50)
    polite.resumed(50)
    assert polite.hosts.release_expensive(50)
    assert polite.resumed(50) == [HOST]
    assert not polite.hosts.release_expensive(50)


def test_a_host_is_not_resumed_while_a_large_body_of_it_is_parsed() -> None:
    polite = Polite(delay_s=1)
    polite.hosts.begin(polite.hosts[HOST], 0)
    polite.hosts[HOST].shared.being_read += 1
    polite.hosts.end(polite.hosts[HOST], 1)
    assert polite.resumed(10) == []
    assert not polite.hosts.may_be_asked(polite.hosts[HOST], 10)
    polite.hosts[HOST].shared.being_read -= 1
    polite.hosts.resume_name(polite.hosts[HOST].shared, 10)
    assert polite.resumed(10) == [HOST]


def test_no_pause_is_longer_than_max_pause() -> None:
    polite = Polite(max_pause_s=100)
    for _ in range(100):
        polite.strike(HOST, 0, State.RESET)
    assert polite.hosts[HOST].paused_until == 100
    polite.strike(HOST, 10, State.THROTTLED, 5000)
    assert polite.hosts[HOST].paused_until == 110


def test_a_success_removes_half_of_the_strikes() -> None:
    polite = Polite(delay_s=0)
    for _ in range(4):
        polite.strike(HOST, 0, State.RESET)
    polite.hosts[HOST].recover()
    assert polite.hosts[HOST].strikes == 2
    polite.strike(HOST, 100, State.RESET)
    assert polite.hosts[HOST].paused_until == 104


def test_a_pause_is_never_cut_short_by_another_request() -> None:
    polite = Polite(delay_s=1, per_host=3)
    polite.hosts.begin(polite.hosts[HOST], 0)
    polite.hosts.begin(polite.hosts[HOST], 1)
    polite.strike(HOST, 2, State.THROTTLED, 60)
    polite.hosts.begin(polite.hosts[HOST], 3)
    polite.hosts.end(polite.hosts[HOST], 4)
    polite.resumed_hosts.clear()
    assert polite.resumed(61.9) == []
    assert set(polite.resumed(62)) == {HOST}


def test_a_host_that_answers_is_not_down() -> None:
    polite = Polite()
    polite.hosts[HOST].mark_down(State.DNS, 100)
    polite.hosts[HOST].recover()
    assert polite.hosts[HOST].trouble_at(1) is None


def test_a_host_that_did_not_answer_in_time_is_silent() -> None:
    host = Host(0, "http://a.example", NameState("a.example", Politeness()))
    page = Response(status=200, headers={}, body=b"")
    assert not host.shared.answers
    for heard, answers in (
        (Failed(kind=State.RESET), False),
        (Failed(kind=State.NOT_FOUND), True),
        (Failed(kind=State.RESET), True),
        (Failed(kind=State.TIMEOUT), False),
        (page, True),
        (page._replace(cut=State.TIMEOUT), False),
        (Unchanged(), True),
        (Failed(kind=State.DNS), False),
    ):
        host.hear(heard)
        assert host.shared.answers is answers


def test_a_host_whose_address_is_not_known_has_room() -> None:
    polite = Polite(per_address=1)
    polite.request(HOST, 0, 1)
    assert polite.has_room_or_waits(HOST, 2)


def test_a_waiting_host_is_resumed_even_if_the_one_before_it_sends_no_request() -> None:
    polite = at_one_address(HOST, OTHER, THIRD)
    assert not polite.has_room_or_waits(OTHER, 2)
    assert not polite.has_room_or_waits(THIRD, 2)
    polite.hosts.end(polite.hosts[HOST], 1)
    polite.resumed_hosts.clear()
    resumed: set[int] = set()
    while (now := polite.hosts.next_wake()) is not None:
        resumed |= set(polite.resumed(max(now, 1)))
    assert resumed == {OTHER, THIRD}


def test_a_host_that_waits_twice_takes_one_place_in_the_queue() -> None:
    polite = at_one_address(HOST, OTHER, THIRD)
    for host in (OTHER, OTHER, THIRD):
        polite.has_room_or_waits(host, 2)
    for leaving, arriving in ((HOST, OTHER), (OTHER, THIRD)):
        polite.hosts.end(polite.hosts[leaving], 1)
        assert arriving in polite.resumed(1)
        polite.hosts.begin(polite.hosts[arriving], 1)


def test_hosts_at_a_full_address_do_not_keep_the_loop_awake() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.has_room_or_waits(OTHER, 2)
    assert polite.hosts.next_wake() is None
    polite.request(HOST, 0, 1)  # its slot is taken again at once
    polite.resumed_hosts.clear()
    assert polite.resumed(1) == []
    assert polite.hosts.next_wake() is None


def test_a_host_may_move_to_another_address_between_two_requests() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.hosts.end(polite.hosts[HOST], 1)
    polite.hosts[HOST].move_to("192.0.2.2")
    polite.hosts.begin(polite.hosts[HOST], 2)
    assert polite.has_room_or_waits(OTHER, 2)


def test_a_request_under_way_stays_on_the_account_of_its_address() -> None:
    polite = at_one_address(HOST, OTHER, per_host=2)
    polite.hosts[HOST].move_to("192.0.2.2")
    assert not polite.has_room_or_waits(OTHER, 2)
    polite.hosts.end(polite.hosts[HOST], 1)
    assert polite.has_room_or_waits(OTHER, 2)
    assert polite.has_room_or_waits(HOST, 2)


def test_a_host_that_is_resumed_and_sends_no_request_holds_up_no_other() -> None:
    polite = paced(HOST, OTHER, THIRD)
    for host in (OTHER, THIRD):
        polite.has_room_or_waits(host, 0)
    assert polite.resumed(0.5) == [OTHER]
    assert polite.hosts.next_wake() == 0.75
    assert polite.resumed(0.75) == [THIRD]


def test_a_resumed_host_is_not_overtaken_by_a_quicker_one() -> None:
    polite = paced(HOST, OTHER, THIRD)
    polite.has_room_or_waits(OTHER, 0)
    assert not polite.hosts.has_room(polite.hosts[THIRD], 0.5)
    assert polite.resumed(0.5) == [OTHER]
    assert not polite.has_room_or_waits(THIRD, 0.6)
    assert polite.has_room_or_waits(OTHER, 0.6)
    polite.hosts.begin(polite.hosts[OTHER], 0.6)
    assert polite.resumed(1.0) == []
    assert polite.resumed(1.1) == [THIRD]
    assert polite.has_room_or_waits(THIRD, 1.1)


@pytest.mark.parametrize(
    ("delay_s", "address", "pause_s"),
    [
        (1, "192.0.2.1", 0.1),
        (1, "127.0.0.1", 0.1),
        ("auto", "127.0.0.1", 0),
        ("auto", "203.0.113.7", 0.1),
        (1, "203.0.113.9", 0.1),
        (0, "192.0.2.1", 0.1),
        (0, "127.0.0.7", 0),
        (0, "::1", 0),
        (0, "203.0.113.9", 0),
        (0, "no address", 0.1),
    ],
)
def test_only_own_addresses_have_no_pause_and_only_without_a_fixed_delay(
    delay_s: float | str, address: str, pause_s: float
) -> None:
    pause_of = address_delay(Politeness(delay_s=delay_s), ["203.0.113.9"])
    assert pause_of(address) == pause_s


def test_addresses_without_pending_requests_are_forgotten() -> None:
    polite = Polite(delay_s=0, address_delay_s=0.5)
    for host in range(5000):
        polite.hosts[host].move_to(f"192.0.2.{host}")
        polite.has_room_or_waits(host, host)
        polite.request(host, host, host)
    assert len(polite.hosts.addresses) < 2000


def test_the_waiting_host_with_the_lowest_rank_is_next() -> None:
    polite = at_one_address(HOST, OTHER, THIRD)
    polite.hosts.wait_for_room(polite.hosts[OTHER], 0, (0.0, -1.0, False))
    polite.hosts.wait_for_room(polite.hosts[THIRD], 0, (0.0, -2.0, True))
    polite.hosts.end(polite.hosts[HOST], 1)
    assert polite.resumed(1) == [HOST, THIRD]


def test_after_a_while_all_waiting_hosts_are_resumed_so_that_ranks_are_current() -> None:
    first, *hosts = range(13)
    polite = paced(first, *hosts)
    for host in hosts:
        polite.hosts.wait_for_room(polite.hosts[host], 0, (0.0, float(host), False))
    admitted = []
    for now in (0.5, 1.0, 1.5, 2.0, 2.5):
        admitted.append(polite.resumed(now))
        polite.hosts.begin(polite.hosts[admitted[-1][0]], now)
    assert admitted == [[1], [2], [3], [4], hosts[4:]]


def test_a_host_has_its_own_delay_and_number_of_requests() -> None:
    rules = ("0.example:delay=9", "0.example:per-host=2", "1.example:delay=0")
    polite = Polite(delay_s=1, host_settings=rules)
    for host, delay_s in ((HOST, 9.0), (OTHER, 0.0), (THIRD, 1.0)):
        assert polite.hosts[host].delay_s == delay_s
        polite.request(host, 0, 0)
    assert polite.resumed(1.0) == [OTHER, THIRD]
    assert set(polite.resumed(9.0)) == {HOST}
    polite.hosts.begin(polite.hosts[HOST], 9.0)
    assert polite.hosts.may_be_asked(polite.hosts[HOST], 18.0)
    polite.hosts.begin(polite.hosts[OTHER], 9.0)
    assert not polite.hosts.may_be_asked(polite.hosts[OTHER], 18.0)


def test_a_host_has_its_own_rate() -> None:
    polite = Polite(delay_s=0, host_settings=("0.example:max-rate=0.5",))
    polite.hosts.clock = FakeClock()
    for host in (HOST, OTHER):
        polite.request(host, 0, 0)
    assert polite.resumed(1.0) == [OTHER]
    assert polite.resumed(2.0) == [HOST]
