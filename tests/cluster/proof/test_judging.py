"""Judgements of small logs, computed by hand."""

import pytest

from tests.cluster.proof.judging import Pauses, Silence, Upset, judge, pauses
from tests.cluster.proof.shelves import Asked

DELAY_S = 1.0
KILL = Upset("kill a node", is_move=False, began=10.0, ended=20.0)
MOVE = Upset("move", is_move=True, began=10.0, ended=20.0)


def log(*asked: tuple[float, str, str]) -> list[Asked]:
    return [Asked(at, by, 200, url) for at, by, url in asked]


def test_two_requests_to_a_host_closer_than_the_delay_are_a_fault() -> None:
    found = judge(log((0, "a", "x/1"), (0.5, "a", "y/1"), (0.7, "b", "x/2")), [], DELAY_S)
    assert found.wrong == ["x/2 was asked for 0.700 s after x/1"]
    assert found.shortest_s == found.shortest_of_two_s == pytest.approx(0.7)


@pytest.mark.parametrize(("upset", "faults"), [(KILL, 0), (MOVE, 1)])
def test_a_repeated_request_is_a_fault_after_a_move_and_not_after_a_kill(
    upset: Upset, faults: int
) -> None:
    found = judge(log((9, "a", "x/1"), (21, "b", "x/1")), [upset], DELAY_S)
    assert (found.again, found.most_often, len(found.wrong)) == (1, 2, faults)


def test_a_repeated_request_long_after_a_kill_is_a_fault() -> None:
    found = judge(log((30, "a", "x/1"), (35, "a", "x/1")), [KILL], DELAY_S)
    assert found.wrong == ["x/1 was asked for again after 5.0 s without a reason"]


def test_a_repeated_request_for_robots_txt_is_no_fault() -> None:
    found = judge(log((9, "a", "x/robots.txt"), (21, "b", "x/robots.txt")), [MOVE], DELAY_S)
    assert (found.again, found.wrong) == (0, [])


def test_a_request_of_a_node_after_its_leases_is_a_fault() -> None:
    cut = KILL._replace(silence=Silence("a", since=16.0, until=19.0))
    asked = log((15, "a", "x/1"), (17, "b", "x/2"), (18, "a", "y/3"), (20, "a", "z/4"))
    assert judge(asked, [cut], DELAY_S).wrong == [
        "y/3 was asked for by a node 2.0 s after its leases"
    ]


def test_a_pause_counts_if_it_overlaps_the_upset() -> None:
    asked = log((0, "a", "x/1"), (9, "a", "y/1"), (12, "a", "x/2"), (13, "a", "y/2"))
    owner = {"x": 0, "y": 1, "z": 1}.__getitem__
    assert pauses([*asked, *log((50, "a", "y/3"))], KILL, owner) == Pauses(37.0, 37.0)
    assert pauses(asked, KILL, owner) == Pauses(3.0, 12.0)
    assert pauses(sorted([*asked, *log((11, "b", "z/1"))]), KILL, owner) == Pauses(2.0, 12.0)
    assert pauses([], KILL, owner) == Pauses(0.0, 0.0)
