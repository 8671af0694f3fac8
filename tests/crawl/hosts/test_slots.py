"""Slots for requests under way: which hosts may hold them, and which requests give them up."""

from math import inf
from typing import cast

import pytest

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.host import Host, NameState
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.hosts.slots import (
    MOST_WAITING,
    RESERVED,
    SILENT_S,
    SLOW_S,
    RequestSlot,
    RequestSlots,
    Standing,
)
from minicrawl.model import Failed, Response
from minicrawl.states import State

PROVEN, NEW, STRANGE, SILENT, DOUBTFUL = Standing
HOST, OTHER, SEED = 1, 2, 100
SLOTS = 64
KEPT = int(RESERVED * SLOTS)


class Room:
    """Slots, and the hosts that were resumed because a slot became free.

    Hosts below 100 are seeds of their own; all others were led to by the seed 100.
    """

    def __init__(self, concurrency: int = SLOTS, share: float = 0.5, idle: int = 0) -> None:
        self.resumed: list[int] = []
        self.ended: list[int] = []
        self.idle, self.waiting_to_be_read = idle, 0
        politeness = Politeness(concurrency=concurrency, silent_share=share)
        self.slots = RequestSlots(
            politeness, self.resumed.append, cast(SideRequests, self), self.families
        )

    @staticmethod
    def families(host: int) -> tuple[int, int]:
        return min(host, SEED), host

    def take(self, host: int, standing: Standing, now: float = 0) -> RequestSlot:
        slot = self.slots.take(now, host, standing)
        slot.give_up = lambda: self.ended.append(host)
        return slot

    def leave(self, slot: RequestSlot) -> None:
        self.slots.leave(slot)
        self.slots.end_turn()

    def fill(self, hosts: range, standing: Standing, now: float = 0) -> int:
        """Begin requests to these hosts as long as there is room. Return their number."""
        begun = 0
        for host in hosts:
            if not self.slots.has_room(host, standing):
                break
            self.take(host, standing, now)
            begun += 1
        return begun


FARM = range(SEED, SEED + 1000)


def test_a_host_is_proven_by_a_page_and_by_its_last_request_alone() -> None:
    state = Host(0, "http://a.example", NameState("a.example", Politeness()))
    assert Standing.of(state, is_known=False) is NEW
    assert Standing.of(state) is SILENT
    state.shared.free_at = 1.0
    assert Standing.of(state, is_known=False) is SILENT
    state.shared.answers = True  # to the request for robots.txt
    assert Standing.of(state) is STRANGE
    state.pages = 1
    assert Standing.of(state) is PROVEN
    state.shared.answers = False
    assert Standing.of(state) is SILENT


def test_a_host_is_doubtful_while_more_of_its_pages_were_dead_or_are_under_way_than_came() -> None:
    state = Host(0, "http://a.example", NameState("a.example", Politeness(), answers=True), pages=1)
    page, dead = Response(200, {}, b""), Failed(kind=State.NOT_FOUND)
    standings = []
    for fetched in (page, dead, dead, Failed(kind=State.TIMEOUT), page, page):
        state.credit -= 1
        standings.append(Standing.of(state))
        state.end_page(fetched)
        standings.append(Standing.of(state))
    assert standings == [
        *(DOUBTFUL, PROVEN),  # the first one is under way, and has come
        *(PROVEN, PROVEN),
        *(DOUBTFUL, DOUBTFUL),  # one has come, and two were dead
        *(DOUBTFUL, DOUBTFUL),
        *(DOUBTFUL, PROVEN),
        *(DOUBTFUL, PROVEN),
    ]


def test_doubtful_hosts_share_the_reserved_slots_while_better_requests_are_under_way() -> None:
    assert Room().fill(FARM, DOUBTFUL) == SLOTS // 2  # nothing else is under way
    room = Room()
    better = room.take(HOST, STRANGE)
    assert room.fill(FARM, DOUBTFUL) == KEPT
    room.slots.wait(OTHER, DOUBTFUL)
    assert not room.slots.resume_one()
    room.leave(better)
    assert room.slots.resume_one()
    few = Room(2)
    few.take(HOST, PROVEN)
    assert few.fill(FARM, DOUBTFUL) == 1


def test_silent_hosts_may_hold_their_share_but_at_least_one_slot() -> None:
    for concurrency, share, most in ((8, 0.5, 4), (8, 1.0, 8), (1, 0.5, 1), (64, 0.0, 1)):
        assert Room(concurrency, share).fill(FARM, SILENT) == most


def test_a_family_that_is_alone_may_hold_all_slots() -> None:
    for standing in (PROVEN, STRANGE):
        assert Room().fill(FARM, standing) == SLOTS


def test_strangers_leave_slots_to_hosts_that_gave_a_page_lately() -> None:
    room = Room()
    room.leave(room.take(SEED, PROVEN))
    assert room.fill(FARM, STRANGE) == SLOTS - KEPT
    assert room.fill(FARM[100:], PROVEN) == KEPT
    room = Room()
    room.leave(room.take(SEED, PROVEN))
    assert room.fill(range(SEED, SEED + 1), STRANGE, now=11) == 1
    assert room.fill(FARM, STRANGE, now=22) == SLOTS - 1  # nobody has given a page for long


def test_the_hosts_that_one_seed_led_to_leave_slots_to_other_families() -> None:
    for standing, levels in ((PROVEN, 1), (STRANGE, 2)):
        room = Room()
        room.leave(room.take(HOST, PROVEN))
        assert room.fill(FARM, standing) == SLOTS - levels * KEPT
        assert room.fill(range(HOST, HOST + KEPT), STRANGE) == KEPT * (levels - 1)
        assert room.fill(range(HOST + KEPT, SEED), PROVEN) == KEPT


def test_an_equal_part_of_the_slots_is_nobodys_excess() -> None:
    """Two families that both want all slots use all of them."""
    room = Room()
    room.leave(room.take(HOST, PROVEN))
    room.fill(FARM, PROVEN)
    room.slots = RequestSlots(
        Politeness(concurrency=SLOTS),
        room.resumed.append,
        cast(SideRequests, room),
        lambda host: (host % 2, host),
    )
    assert room.fill(FARM, PROVEN) == SLOTS


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (3, 3), (4, 3), (16, 15), (40, 38)])
def test_few_slots_are_reserved_where_there_are_few(concurrency: int, most: int) -> None:
    room = Room(concurrency)
    room.leave(room.take(HOST, PROVEN))
    assert room.fill(FARM, PROVEN) == most


def test_a_silent_host_that_waits_is_resumed_when_there_is_room() -> None:
    room = Room(2)
    slot = room.take(SEED, SILENT)
    assert not room.slots.has_room(HOST, SILENT)
    room.slots.wait(HOST, SILENT)
    room.slots.wait(OTHER, SILENT)
    assert not room.slots.resume_one()
    room.slots.leave(slot)
    assert room.resumed == [HOST]
    assert room.slots.resume_one()  # the resumed host may not have used the slot
    assert room.resumed == [HOST, OTHER]
    assert not room.slots.resume_one()


def test_waiting_hosts_are_resumed_family_by_family() -> None:
    room = Room(1)
    room.slots.take(0, HOST, SILENT)
    for host in (*FARM[:3], OTHER, 3):
        room.slots.wait(host, NEW)
    room.slots.resize(Politeness(concurrency=SLOTS))
    while room.slots.resume_one():
        pass
    assert room.resumed == [SEED, OTHER, 3, SEED + 1, SEED + 2]


def test_a_slot_that_no_host_waits_for_resumes_none() -> None:
    """A silent host waits for the share of silent ones, so the end of a turn changes nothing."""
    room = Room()
    slots = [room.take(host, SILENT) for host in range(SLOTS // 2)]
    for host in FARM[:2]:
        room.slots.wait(host, SILENT)
    room.leave(slots[0])
    assert room.resumed == [SEED]


def test_hosts_that_gave_a_page_are_resumed_first() -> None:
    room = Room(1)
    slot = room.take(SEED, PROVEN)
    for host, standing in ((4, SILENT), (3, STRANGE), (2, NEW), (1, PROVEN)):
        room.slots.wait(host, standing)
    room.leave(slot)
    while room.slots.resume_one():
        pass
    assert room.resumed == [1, 2, 3, 4]


def test_a_family_with_its_part_keeps_no_other_one_waiting() -> None:
    room = Room()
    room.leave(room.take(HOST, PROVEN))
    begun = room.fill(FARM, STRANGE)
    for host in FARM[begun:]:
        room.slots.wait(host, STRANGE)
    assert not room.slots.resume_one()
    room.slots.wait(OTHER, STRANGE)
    assert room.slots.resume_one()
    assert room.resumed == [OTHER]


def test_a_silent_host_gives_its_slot_to_one_that_was_never_requested() -> None:
    room = Room(4)
    slots = [room.take(SEED + number, NEW, number / 10) for number in range(2)]
    room.slots.wait(OTHER, SILENT)
    assert room.slots.next_silent() is None  # no host waits for its first request
    room.slots.wait(HOST, NEW)
    assert room.slots.next_silent() == SILENT_S
    room.slots.give_up_silent(SILENT_S - 0.1)
    assert room.ended == []
    room.slots.give_up_silent(SILENT_S + 1)
    assert room.ended == [SEED]  # one slot for one host
    assert room.slots.next_silent() == SILENT_S + 0.1
    room.slots.leave(slots[1])
    assert room.resumed == [HOST]  # before the other host, which has waited longer
    assert room.slots.next_silent() is None


def test_a_family_that_has_its_part_takes_first_requests_of_its_own_alone() -> None:
    room = Room(8)
    room.take(HOST, NEW)
    for host in range(OTHER, 9):  # more families than slots, so that one slot is a part
        room.slots.wait(host, PROVEN)
    room.fill(FARM, NEW)
    room.slots.wait(FARM[-1], NEW)
    room.slots.give_up_silent(SILENT_S)
    assert room.ended == [SEED]
    assert room.fill(range(9, 10), NEW) == 1
    room.slots.wait(10, NEW)
    room.slots.give_up_silent(SILENT_S)
    assert room.ended == [SEED, HOST, SEED + 1]


def test_a_host_that_lost_its_slot_waits_for_as_many_others_as_of_its_own_family() -> None:
    room = Room(2)
    room.slots.take(0, OTHER, SILENT)
    for host in FARM:
        room.slots.wait(host, NEW)
    assert room.slots.when_all_were_asked(HOST, 5) == 5 + SILENT_S
    assert room.slots.when_all_were_asked(SEED, 5) == 5 + SILENT_S * len(FARM)


def test_turns_that_wait_for_another_host_hold_no_slot() -> None:
    room = Room(2, idle=1)
    room.take(HOST, SILENT)
    assert room.slots.has_room(OTHER, SILENT)
    assert room.slots.free == 2


def test_of_too_many_slow_requests_the_oldest_gives_up_its_slot_once() -> None:
    room = Room(4)
    slots = [room.take(number, PROVEN, number / 10) for number in range(3)]
    room.slots.wait(HOST, PROVEN)
    assert room.slots.next_slow(0) == SLOW_S
    now = SLOW_S + 1
    assert room.slots.next_slow(now) is None
    room.slots.give_up_for_waiting(now)
    assert room.ended == [0]
    assert not room.slots.has_too_many_slow(now)  # two requests may be slow
    room.slots.leave(slots[0])
    room.take(SEED, SILENT, now)
    assert room.slots.has_too_many_slow(now)
    room.slots.give_up_slowest(now)
    assert room.ended == [0, 1]


def test_nobody_loses_a_slot_while_none_waits() -> None:
    room = Room(4)
    for number in range(3):
        room.take(number, PROVEN)
    assert room.slots.next_slow(0) is None
    room.slots.give_up_for_waiting(inf)
    assert room.ended == []


def test_slow_requests_of_a_family_with_more_than_its_part_are_ended_first() -> None:
    room = Room(4)
    for host in (HOST, SEED, SEED + 1, SEED + 2):
        room.take(host, PROVEN)
    room.slots.give_up_slowest(SLOW_S)
    assert room.ended == [SEED]


def test_a_slot_that_cannot_be_given_up_does_not_count_as_slow() -> None:
    room = Room(1)
    room.slots.take(0, HOST, PROVEN)
    assert not room.slots.has_too_many_slow(SLOW_S)
    room.slots.give_up_slowest(SLOW_S)


def test_strangers_wait_only_while_very_many_pages_wait_for_the_parser() -> None:
    room, most = Room(2, idle=100), 2 * MOST_WAITING
    slots = [room.take(SEED, STRANGE) for _ in range(most + 1)]
    assert room.slots.has_room(HOST, STRANGE)
    room.waiting_to_be_read = 1
    for standing in (NEW, STRANGE, SILENT):
        assert not room.slots.has_room(HOST, standing)
    assert room.slots.has_room(HOST, PROVEN)
    for _ in range(2):
        room.leave(slots.pop())
        assert not room.slots.has_room(HOST, STRANGE)
    room.leave(slots.pop())
    assert room.slots.has_room(HOST, STRANGE)
    room.waiting_to_be_read = 2
    assert not room.slots.has_room(HOST, STRANGE)


def test_a_waiting_stranger_is_resumed_when_another_one_leaves_its_slot() -> None:
    room = Room(1, idle=1)
    slot = room.take(SEED, STRANGE)
    room.waiting_to_be_read = MOST_WAITING - 1
    room.slots.wait(HOST, STRANGE)
    assert not room.slots.resume_one()
    room.slots.leave(slot)
    assert room.resumed == [HOST]
