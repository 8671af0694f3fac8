"""Who may hold a request: hosts that answer, and those that do not."""

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.request_slots import SLOW_S, RequestSlots

HOST, OTHER = 1, 2


class Room:
    """Places, and who was told that there is one."""

    def __init__(self, concurrency: int, share: float = 0.5, idle: int = 0) -> None:
        self.resumed: list[int] = []
        politeness = Politeness(concurrency=concurrency, silent_share=share)
        self.places = RequestSlots(politeness, self.resumed.append, lambda: idle)


def test_silent_hosts_hold_their_share_and_one_place_at_least() -> None:
    for concurrency, share, most in ((8, 0.5, 4), (8, 1.0, 8), (1, 0.5, 1), (64, 0.0, 1)):
        room = Room(concurrency, share)
        for _ in range(most):
            assert room.places.has_room_for_silent()
            room.places.take(0, is_silent=True)
        assert not room.places.has_room_for_silent()


def test_a_silent_host_that_found_no_place_is_told_of_the_next_one() -> None:
    room = Room(2)
    place = room.places.take(0, is_silent=True)
    for host in (HOST, OTHER):
        assert not room.places.has_room_for_silent()
        room.places.wait(host)
    assert not room.places.resume_one()
    room.places.leave(place)
    assert room.resumed == [HOST]
    assert room.places.resume_one()  # whoever was told may not have gone
    assert room.resumed == [HOST, OTHER]
    assert not room.places.resume_one()


def test_turns_that_wait_for_another_host_hold_no_place() -> None:
    room = Room(2, idle=1)
    room.places.take(0, is_silent=True)
    assert room.places.has_room_for_silent()


def test_hosts_that_answer_are_not_counted_while_they_are_quick() -> None:
    room = Room(2)
    for _ in range(2):
        room.places.take(0, is_silent=False).give_up = lambda: None
    assert not room.places.has_too_many_slow(SLOW_S - 0.1)
    assert room.places.next_slow(0) == SLOW_S
    assert room.places.has_room_for_silent()


def test_of_too_many_slow_requests_the_one_under_way_longest_gives_up_once() -> None:
    room = Room(4)
    given_up: list[int] = []

    def give_up(number: int) -> None:
        given_up.append(number)

    places = [room.places.take(number / 10, is_silent=False) for number in range(3)]
    for number, place in enumerate(places):
        place.give_up = lambda number=number: give_up(number)
    now = SLOW_S + 1
    assert room.places.next_slow(now) is None
    assert room.places.has_too_many_slow(now)
    room.places.give_up_slowest(now)
    assert given_up == [0]
    assert not room.places.has_too_many_slow(now)  # two are as many as may be slow
    room.places.leave(places[0])
    room.places.take(now, is_silent=True)
    assert room.places.has_too_many_slow(now)
    room.places.give_up_slowest(now)
    assert given_up == [0, 1]


def test_what_cannot_be_ended_is_not_asked_to() -> None:
    room = Room(1)
    room.places.take(0, is_silent=False)
    assert not room.places.has_too_many_slow(SLOW_S)
    room.places.give_up_slowest(SLOW_S)
