"""Which node should hold which shard: evenly, and with as few moves as that takes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from minicrawl.cluster.assignment import assignment, even_loads

NAMES = st.sampled_from([f"node-{number}" for number in range(9)])
ROOMS = st.dictionaries(NAMES, st.integers(0, 30), max_size=6)
HOLDERS = st.dictionaries(st.integers(0, 39), NAMES)
SHARDS = st.integers(1, 40)


def loads(wanted: dict[int, str]) -> list[int]:
    return sorted(Counter(wanted.values()).values())


def kept(wanted: dict[int, str], holders: dict[int, str]) -> int:
    return sum(holders.get(shard) == node for shard, node in wanted.items())


# ---------------------------------------------------------------- by hand


def test_one_node_holds_all() -> None:
    assert assignment(3, {"a": 9}, {}) == {0: "a", 1: "a", 2: "a"}


def test_nobody_holds_anything_where_no_node_is() -> None:
    assert assignment(3, {}, {0: "gone"}) == {}


def test_a_node_that_comes_gets_its_part_and_nothing_else_moves() -> None:
    before = assignment(16, dict.fromkeys("abc", 16), {})
    after = assignment(16, dict.fromkeys("abcd", 16), before)
    assert loads(after) == [4, 4, 4, 4]
    moved = [shard for shard in before if before[shard] != after[shard]]
    assert len(moved) == 4
    assert {after[shard] for shard in moved} == {"d"}


def test_only_the_shards_of_a_node_that_goes_move() -> None:
    before = assignment(16, dict.fromkeys("abcd", 16), {})
    after = assignment(16, dict.fromkeys("abc", 16), before)
    assert loads(after) == [5, 5, 6]
    assert kept(after, before) == 12


def test_shards_of_a_node_that_goes_are_shared_out() -> None:
    before = assignment(64, dict.fromkeys("abcde", 64), {})
    after = assignment(64, dict.fromkeys("abcd", 64), before)
    assert len({after[shard] for shard, node in before.items() if node == "e"}) == 4


def test_a_drained_node_gives_all_away() -> None:
    before = dict.fromkeys(range(8), "a")
    after = assignment(8, {"a": 0, "b": 8}, before)
    assert after == dict.fromkeys(range(8), "b")


def test_a_node_without_room_for_its_part_leaves_the_rest_to_others() -> None:
    assert loads(assignment(10, {"a": 1, "b": 9, "c": 9}, {})) == [1, 4, 5]


def test_what_nobody_has_room_for_is_held_by_nobody() -> None:
    assert len(assignment(10, {"a": 2, "b": 1}, {})) == 3


def test_what_is_over_stays_with_those_that_have_more() -> None:
    assert even_loads(5, {"a": 9, "b": 9}, {"a": 1, "b": 4}) == {"a": 2, "b": 3}


# ---------------------------------------------------------------- laws


@given(SHARDS, ROOMS, HOLDERS)
def test_shards_are_shared_evenly_as_far_as_there_is_room(
    shards: int, rooms: dict[str, int], holders: dict[int, str]
) -> None:
    wanted = assignment(shards, rooms, holders)
    held = Counter(wanted.values())
    assert len(wanted) == min(shards, sum(rooms.values()))
    assert wanted.keys() <= set(range(shards))
    for node, room in rooms.items():
        assert held[node] <= room
        for other in rooms:
            assert held[other] <= held[node] + 1 or held[node] == room


@given(SHARDS, ROOMS, HOLDERS)
def test_as_many_stay_as_an_even_assignment_can_leave(
    shards: int, rooms: dict[str, int], holders: dict[int, str]
) -> None:
    """With an even share of `low`, and `over` nodes that may have one more, a node keeps at most
    that many of its own."""
    before = {shard: node for shard, node in holders.items() if shard < shards and node in rooms}
    held = Counter(before.values())
    target = Counter(assignment(shards, rooms, holders).values())
    stay = kept(assignment(shards, rooms, holders), before)
    assert stay == sum(min(held[node], target[node]) for node in rooms)
    level = max(target.values(), default=0)
    for node, room in rooms.items():
        if held[node] > target[node] < room:
            given_more = [one for one in rooms if target[one] == level > target[node]]
            assert all(held[one] >= held[node] for one in given_more)


@given(SHARDS, ROOMS, HOLDERS)
def test_an_assignment_that_was_made_stays(
    shards: int, rooms: dict[str, int], holders: dict[int, str]
) -> None:
    wanted = assignment(shards, rooms, holders)
    assert assignment(shards, rooms, wanted) == wanted
    assert assignment(shards, dict(reversed(rooms.items())), holders) == wanted
