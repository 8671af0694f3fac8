"""Limits of an address: requests at once, the pause between them, and which host is next."""

import pytest

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.pacing import address_delay
from tests.crawl.hosts.polite import HOST, OTHER, THIRD, Polite, at_one_address, paced

# ---------------------------------------------------------------- requests at once


def test_a_host_whose_address_is_not_known_has_room() -> None:
    polite = Polite(per_address=1)
    polite.request(HOST, 0, 1)
    assert polite.has_room_or_waits(HOST, 2)


def test_a_waiting_host_is_resumed_even_if_the_one_before_it_sends_no_request() -> None:
    polite = at_one_address(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    assert not polite.has_room_or_waits(OTHER, 2)
    assert not polite.has_room_or_waits(THIRD, 2)
    polite.hosts.end(HOST, 1)
    polite.resumed_hosts.clear()
    resumed: set[int] = set()
    while (now := polite.hosts.next_wake()) is not None:
        resumed |= set(polite.resumed(max(now, 1)))
    assert resumed == {OTHER, THIRD}


def test_a_host_that_waits_twice_takes_one_place_in_the_queue() -> None:
    polite = at_one_address(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    for host in (OTHER, OTHER, THIRD):
        polite.has_room_or_waits(host, 2)
    for leaving, arriving in ((HOST, OTHER), (OTHER, THIRD)):
        polite.hosts.end(leaving, 1)
        assert arriving in polite.resumed(1)
        polite.hosts.begin(arriving, 1)


def test_hosts_at_a_full_address_do_not_keep_the_loop_awake() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.hosts.begin(HOST, 0)
    polite.has_room_or_waits(OTHER, 2)
    assert polite.hosts.next_wake() is None


def test_a_slot_that_is_taken_again_at_once_wakes_no_host() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.hosts.begin(HOST, 0)
    polite.has_room_or_waits(OTHER, 2)
    polite.request(HOST, 0, 1)
    polite.resumed_hosts.clear()
    assert polite.resumed(1) == []
    assert polite.hosts.next_wake() is None


def test_a_host_may_move_to_another_address_between_two_requests() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.request(HOST, 0, 1)
    polite.hosts[HOST].move_to("192.0.2.2")
    polite.hosts.begin(HOST, 2)
    assert polite.has_room_or_waits(OTHER, 2)


def test_a_request_under_way_stays_on_the_account_of_its_address() -> None:
    polite = at_one_address(HOST, OTHER, per_host=2)
    polite.hosts.begin(HOST, 0)
    polite.hosts[HOST].move_to("192.0.2.2")
    assert not polite.has_room_or_waits(OTHER, 2)
    polite.hosts.end(HOST, 1)
    assert polite.has_room_or_waits(OTHER, 2)
    assert polite.has_room_or_waits(HOST, 2)


# ---------------------------------------------------------------- pauses


def test_requests_of_all_hosts_at_an_address_begin_a_pause_apart() -> None:
    polite = paced(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    assert not polite.has_room_or_waits(OTHER, 0.4)
    assert not polite.has_room_or_waits(THIRD, 0.4)
    assert polite.hosts.next_wake() == 0.5
    assert polite.resumed(0.4) == []
    assert polite.resumed(0.5) == [OTHER]
    assert polite.has_room_or_waits(OTHER, 0.5)
    polite.hosts.begin(OTHER, 0.5)
    assert polite.resumed(0.9) == []
    assert polite.hosts.next_wake() == 1.0
    assert polite.resumed(1.0) == [THIRD]
    assert polite.hosts.next_wake() is None


def test_a_host_that_is_resumed_and_sends_no_request_holds_up_no_other() -> None:
    polite = paced(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    for host in (OTHER, THIRD):
        polite.has_room_or_waits(host, 0)
    assert polite.resumed(0.5) == [OTHER]
    assert polite.hosts.next_wake() == 0.75
    assert polite.resumed(0.75) == [THIRD]


def test_a_resumed_host_is_not_overtaken_by_a_quicker_one() -> None:
    polite = paced(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    polite.has_room_or_waits(OTHER, 0)
    assert not polite.hosts.has_room(THIRD, 0.5)
    assert polite.resumed(0.5) == [OTHER]
    assert not polite.has_room_or_waits(THIRD, 0.6)
    assert polite.has_room_or_waits(OTHER, 0.6)
    polite.hosts.begin(OTHER, 0.6)
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


def test_each_of_several_shards_has_its_part_of_the_pace_of_an_address() -> None:
    pause_of = address_delay(Politeness(delay_s=0, address_delay_s=0.1), (), shards=16)
    assert pause_of("203.0.113.9") == pytest.approx(1.6)
    assert pause_of("127.0.0.1") == 0


def test_addresses_without_pending_requests_are_forgotten() -> None:
    polite = Polite(delay_s=0, address_delay_s=0.5)
    for host in range(5000):
        polite.hosts[host].move_to(f"192.0.2.{host}")
        polite.has_room_or_waits(host, host)
        polite.hosts.begin(host, host)
        polite.hosts.end(host, host)
    assert len(polite.hosts.addresses) < 2000


def test_has_room_puts_no_host_in_the_queue() -> None:
    polite = at_one_address(HOST, OTHER)
    polite.hosts.begin(HOST, 0)
    assert not polite.hosts.has_room(OTHER, 2)
    polite.request(HOST, 0, 1)
    polite.hosts.end(HOST, 1)
    polite.resumed(1)
    assert OTHER not in polite.resumed(100)


def test_the_waiting_host_with_the_lowest_rank_is_next() -> None:
    polite = at_one_address(HOST, OTHER, THIRD)
    polite.hosts.begin(HOST, 0)
    polite.hosts.wait_for_room(OTHER, 0, (0.0, -1.0, False))
    polite.hosts.wait_for_room(THIRD, 0, (0.0, -2.0, True))
    polite.hosts.end(HOST, 1)
    assert polite.resumed(1) == [HOST, THIRD]


def test_after_a_while_all_waiting_hosts_are_resumed_so_that_ranks_are_current() -> None:
    first, *hosts = range(13)
    polite = paced(first, *hosts)
    polite.hosts.begin(first, 0)
    for host in hosts:
        polite.hosts.wait_for_room(host, 0, (0.0, float(host), False))
    admitted = []
    for now in (0.5, 1.0, 1.5, 2.0, 2.5):
        admitted.append(polite.resumed(now))
        polite.hosts.begin(admitted[-1][0], now)
    assert admitted == [[1], [2], [3], [4], hosts[4:]]
