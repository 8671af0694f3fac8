"""Who holds which shard as a node sees it, and what it does about that: by hand, with a clock that
the test turns."""

from dataclasses import replace

from minicrawl.cluster.node.leases import BEATS, HOLD_S, KEYS, LEASE_S, YOUNG_S, ClusterView, plan
from minicrawl.cluster.terms import BeatRecord, LeaseRecord, NodeRecord

SHARDS = 4


def record(name: str, beat: int = 1, room: int = SHARDS) -> NodeRecord:
    return NodeRecord(
        session=f"session of {name}",
        beat=beat,
        version="1",
        machine="m",
        pid=1,
        room=room,
        workers=0,
        disk_free=1,
    )


def lease(name: str, generation: int = 1) -> LeaseRecord:
    return LeaseRecord(node=name, session=f"session of {name}", generation=generation)


def me(name: str) -> tuple[str, str]:
    return name, f"session of {name}"


def view(*names: str, held: str = "", now: float = 0.0) -> ClusterView:
    """Nodes that are there since `now`; the holder of each shard in turn, or `-`."""
    seen = ClusterView(SHARDS)
    for name in names:
        seen.hear_node(name, record(name), now)
    for shard, holder in enumerate(held):
        if holder != "-":
            seen.hear_lease(shard, lease(holder), 1)
    return seen


def test_a_node_that_is_alone_takes_all() -> None:
    assert plan(view("a"), me("a"), (), 0).take == [0, 1, 2, 3]


def test_a_shard_of_a_live_node_is_not_taken() -> None:
    assert plan(view("a", "b", held="bbbb"), me("a"), (), 0).take == []


def test_a_shard_that_is_ours_and_that_we_do_not_crawl_is_taken_again() -> None:
    assert plan(view("a", held="aaaa"), me("a"), (0, 1, 3), 0).take == [2]


def test_shards_of_a_node_are_taken_when_it_was_silent_for_the_time_of_a_lease() -> None:
    seen = view("a", "b", held="bbbb")
    seen.hear_node("a", record("a", 2), LEASE_S)
    assert plan(seen, me("a"), (), LEASE_S - 1).take == []
    assert plan(seen, me("a"), (), LEASE_S).take == [0, 1, 2, 3]


def test_what_a_node_says_among_the_beats_counts_if_it_is_known_and_new() -> None:
    seen = view("a", "b", held="bbbb")
    for session, beat, at in (("session of b", 2, 5), ("session of b", 2, 6), ("before", 9, 7)):
        seen.hear_beat("b", BeatRecord(session=session, beat=beat), at)
    seen.hear_node("b", record("b", 2), 7.5)  # the same beat, heard late
    seen.hear_beat("c", BeatRecord(session="session of c", beat=1), 8)
    assert seen.is_live("b", 5 + LEASE_S - 1)
    assert not seen.is_live("b", 5 + LEASE_S)
    assert "c" not in seen.nodes


def test_nobody_is_silent_before_all_that_was_said_is_known() -> None:
    seen = view("a", "b", held="bbbb")
    seen.hear_node("a", record("a", 2), 60)
    for place in (KEYS, BEATS):
        seen.know_all_to(place, 1)
    assert plan(seen, me("a"), (), 60).take == []
    seen.know_all_to(KEYS, 60)
    assert plan(seen, me("a"), (), 60).take == []
    seen.know_all_to(BEATS, LEASE_S)
    seen.know_all_to(BEATS, LEASE_S - 1)  # what was known stays known
    assert plan(seen, me("a"), (), 60).take == [0, 1, 2, 3]


def test_whoever_holds_a_shard_stops_before_another_node_may_take_it() -> None:
    assert HOLD_S < LEASE_S


def test_a_node_that_began_anew_takes_its_own_shards_at_once() -> None:
    seen = view("a", "b", held="bbaa")
    seen.hear_node("a", replace(record("a"), session="another"), 1)
    assert plan(seen, ("a", "another"), (), 1).take == [2, 3]


def test_a_shard_moves_to_a_node_that_has_been_there_for_a_while() -> None:
    seen = view("a", held="aaaa")
    seen.hear_node("b", record("b"), 1)
    assert plan(seen, me("a"), range(4), 1 + YOUNG_S - 0.1).give_up == []
    assert len(plan(seen, me("a"), range(4), 1 + YOUNG_S).give_up) == 2


def test_users_may_move_shards_to_a_young_node() -> None:
    seen = view("a", held="aaaa")
    seen.hear_node("b", record("b"), 1)
    assert len(plan(seen, me("a"), range(4), 1, at_once=True).give_up) == 2


def test_a_drained_node_gives_up_all_even_if_nobody_can_take_them() -> None:
    seen = view("a", held="aaaa")
    seen.drained.add("a")
    assert plan(seen, me("a"), range(4), 0).give_up == [0, 1, 2, 3]
    assert plan(seen, me("a"), (), 0).take == []


def test_what_another_node_has_taken_is_lost() -> None:
    seen = view("a", "b", held="aaaa")
    seen.hear_lease(2, lease("b", 2), 9)
    assert plan(seen, me("a"), range(4), 0).lost == [2]


def test_what_is_heard_late_about_a_lease_is_no_news() -> None:
    seen = view("a", "b", held="aaaa")
    seen.hear_lease(2, lease("b"), 9)
    seen.hear_lease(2, lease("a"), 8)
    assert seen.holder(2, 0) == "b"


def test_a_key_that_is_gone_frees_its_shard() -> None:
    seen = view("a", "b", held="bbbb")
    seen.hear_lease(1, None, 0)
    assert plan(seen, me("a"), (), 0).take == [1]


def test_who_heard_nobody_for_a_while_excuses_all() -> None:
    seen = view("a", "b", held="bbbb")
    seen.hear_node("a", record("a", 2), 60)
    seen.renew_all(60)
    assert plan(seen, me("a"), (), 60 + LEASE_S - 1).take == []


def test_a_node_that_says_goodbye_is_gone_at_once() -> None:
    seen = view("a", "b", held="bbbb")
    seen.hear_node("b", None, 1)
    assert plan(seen, me("a"), (), 1).take == [0, 1, 2, 3]


def test_a_shard_that_was_given_back_is_free() -> None:
    seen = view("a", "b", held="bbbb")
    seen.hear_lease(3, LeaseRecord(node="b", session="", generation=1), 2)
    assert plan(seen, me("a"), (), 0).take == [3]
    assert len(plan(seen, me("b"), (0, 1, 2), YOUNG_S).give_up) == 1
