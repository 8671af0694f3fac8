"""Slots for requests under way, and the hosts that may hold them."""

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.pacing import MOST_WAITING, SILENT_S, SLOW_S, RequestSlots

HOST, OTHER = 1, 2


class Room:
    """Slots, and the hosts that were resumed because a slot became free."""

    def __init__(self, concurrency: int, share: float = 0.5, idle: int = 0) -> None:
        self.resumed: list[int] = []
        self.idle, self.waiting_to_be_read = idle, 0
        politeness = Politeness(concurrency=concurrency, silent_share=share)
        self.slots = RequestSlots(politeness, self.resumed.append, self)


def test_silent_hosts_may_hold_their_share_but_at_least_one_slot() -> None:
    for concurrency, share, most in ((8, 0.5, 4), (8, 1.0, 8), (1, 0.5, 1), (64, 0.0, 1)):
        room = Room(concurrency, share)
        for _ in range(most):
            assert room.slots.has_room_for_silent()
            room.slots.take(0, is_silent=True)
        assert not room.slots.has_room_for_silent()


def test_a_silent_host_that_waits_is_resumed_when_there_is_room() -> None:
    room = Room(2)
    slot = room.slots.take(0, is_silent=True)
    assert not room.slots.has_room_for_silent()
    room.slots.wait(HOST)
    room.slots.wait(OTHER)
    assert not room.slots.resume_one()
    room.slots.leave(slot)
    assert room.resumed == [HOST]
    assert room.slots.resume_one()  # the resumed host may not have used the slot
    assert room.resumed == [HOST, OTHER]
    assert not room.slots.resume_one()


def test_has_room_for_silent_makes_no_host_wait() -> None:
    room = Room(1)
    slot = room.slots.take(0, is_silent=True)
    assert not room.slots.has_room_for_silent()
    room.slots.leave(slot)
    assert room.resumed == []
    assert not room.slots.resume_one()


def test_a_silent_host_gives_its_slot_to_one_that_was_never_requested() -> None:
    room, ended = Room(4), list[int]()
    for number in range(2):
        slot = room.slots.take(number / 10, is_silent=True, is_first=True)
        slot.give_up = lambda number=number: ended.append(number)
    room.slots.wait(OTHER)
    assert room.slots.next_silent() is None  # no host waits for its first request
    room.slots.wait(HOST, is_first=True)
    assert room.slots.next_silent() == SILENT_S
    room.slots.give_up_silent(SILENT_S - 0.1)
    assert ended == []
    room.slots.give_up_silent(SILENT_S + 1)
    assert ended == [0]  # one slot for one host
    assert room.slots.next_silent() == SILENT_S + 0.1
    room.slots.leave(slot)
    assert room.resumed == [HOST]  # before the other host, which has waited longer
    assert room.slots.next_silent() is None


def test_turns_that_wait_for_another_host_hold_no_slot() -> None:
    room = Room(2, idle=1)
    room.slots.take(0, is_silent=True)
    assert room.slots.has_room_for_silent()


def test_hosts_that_answer_do_not_count_while_they_are_quick() -> None:
    room = Room(2)
    for _ in range(2):
        room.slots.take(0, is_silent=False).give_up = lambda: None
    assert not room.slots.has_too_many_slow(SLOW_S - 0.1)
    assert room.slots.next_slow(0) == SLOW_S
    assert room.slots.has_room_for_silent()


def test_of_too_many_slow_requests_the_oldest_gives_up_its_slot_once() -> None:
    room = Room(4)
    given_up: list[int] = []
    slots = [room.slots.take(number / 10, is_silent=False) for number in range(3)]
    for number, slot in enumerate(slots):
        slot.give_up = lambda number=number: given_up.append(number)
    now = SLOW_S + 1
    assert room.slots.next_slow(now) is None
    assert room.slots.has_too_many_slow(now)
    room.slots.give_up_slowest(now)
    assert given_up == [0]
    assert not room.slots.has_too_many_slow(now)  # two requests may be slow
    room.slots.leave(slots[0])
    room.slots.take(now, is_silent=True)
    assert room.slots.has_too_many_slow(now)
    room.slots.give_up_slowest(now)
    assert given_up == [0, 1]


def test_a_slot_that_cannot_be_given_up_does_not_count_as_slow() -> None:
    room = Room(1)
    room.slots.take(0, is_silent=False)
    assert not room.slots.has_too_many_slow(SLOW_S)
    room.slots.give_up_slowest(SLOW_S)


def test_strangers_wait_only_while_very_many_pages_wait_for_the_parser() -> None:
    room, most = Room(2), 2 * MOST_WAITING
    slots = [room.slots.take(0, is_silent=False, is_strange=True) for _ in range(most + 1)]
    assert room.slots.has_room_for_strangers()
    room.waiting_to_be_read = 1
    assert not room.slots.has_room_for_strangers()
    assert not room.slots.has_room_for_silent()
    for _ in range(2):
        room.slots.leave(slots.pop())
        assert not room.slots.has_room_for_strangers()
    room.slots.leave(slots.pop())
    assert room.slots.has_room_for_strangers()
    room.waiting_to_be_read = 2
    assert not room.slots.has_room_for_strangers()


def test_a_waiting_stranger_is_resumed_when_another_one_leaves_its_slot() -> None:
    room = Room(1)
    slot = room.slots.take(0, is_silent=False, is_strange=True)
    room.waiting_to_be_read = MOST_WAITING - 1
    room.slots.wait(HOST)
    assert not room.slots.resume_one()
    room.slots.leave(slot)
    assert room.resumed == [HOST]
