"""A node's view of the holders of shards, and its plan, with a clock that the test sets."""

from dataclasses import replace

from minicrawl.cluster.node.leases import LEASE_S, YOUNG_S, ClusterView, plan
from minicrawl.cluster.records import LeaseRecord, NodeRecord

SHARDS = 4


def record(name: str, beat: int = 1, room: int = SHARDS) -> NodeRecord:
    return NodeRecord(
        session=f"session of {name}",
        beat=beat,
        version="1",
        machine="m",
        room=room,
        workers=0,
    )


def lease(name: str, generation: int = 1) -> LeaseRecord:
    return LeaseRecord(node=name, session=f"session of {name}", generation=generation)


def me(name: str) -> tuple[str, str]:
    return name, f"session of {name}"


def view(*names: str, held: str = "", now: float = 0.0) -> ClusterView:
    """Return a view of nodes present since `now`; `held` has the holder of each shard, or `-`."""
    seen = ClusterView(SHARDS)
    for name in names:
        seen.hear_node(name, record(name), now)
    for shard, holder in enumerate(held):
        if holder != "-":
            seen.hear_lease(shard, lease(holder), 1)
    return seen


def test_a_shard_of_the_node_that_it_does_not_crawl_is_taken_again() -> None:
    assert plan(view("a", held="aaaa"), me("a"), (0, 1, 3), 0).take == [2]


def test_a_beat_counts_if_it_is_new() -> None:
    seen = view("a", "b", held="bbbb")
    for at in (5, 6):
        seen.hear_node("b", record("b", 2, room=1), at)
    assert seen.nodes["b"].record.room == 1
    assert "b" in seen.live(5 + LEASE_S - 1)
    assert "b" not in seen.live(5 + LEASE_S)


def test_a_restarted_node_takes_its_own_shards_at_once() -> None:
    seen = view("a", "b", held="bbaa")
    seen.hear_node("a", replace(record("a"), session="another"), 1)
    assert plan(seen, ("a", "another"), (), 1).take == [2, 3]


def test_a_drained_node_gives_up_all_shards_even_if_no_other_node_is_there() -> None:
    seen = view("a", held="aaaa")
    seen.drained.add("a")
    assert plan(seen, me("a"), range(4), 0).give_up == [0, 1, 2, 3]
    assert plan(seen, me("a"), (), 0).take == []


def test_an_older_revision_of_a_lease_is_ignored() -> None:
    seen = view("a", "b", held="aaaa")
    seen.hear_lease(2, lease("b"), 9)
    seen.hear_lease(2, lease("a"), 8)
    assert seen.holders(0)[2] == "b"


def test_a_deleted_lease_frees_its_shard() -> None:
    seen = view("a", "b", held="bbbb")
    seen.hear_lease(1, None, 2)
    assert plan(seen, me("a"), (), 0).take == [1]


def test_shards_of_a_node_that_deletes_its_record_are_taken_at_once() -> None:
    seen = view("a", "b", held="bbbb")
    seen.hear_node("b", None, 1)
    assert plan(seen, me("a"), (), 1).take == [0, 1, 2, 3]


def test_a_shard_that_was_given_back_is_free_and_counts_for_no_node() -> None:
    seen = view("a", "b", held="bbbb")
    given_back = LeaseRecord(node="b", session="", generation=1)
    seen.hear_lease(3, given_back, 2)
    assert plan(seen, me("a"), (), 0).take == [3]
    assert len(plan(seen, me("b"), (0, 1, 2), YOUNG_S).give_up) == 1
