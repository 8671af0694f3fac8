"""Parts of a shard by hand: owners, bytes, outbox, channels, audit, pots and cash threshold."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl import State
from minicrawl.cluster.cash_threshold import NO_THRESHOLD, cash_threshold, sketch
from minicrawl.cluster.channels.batches import MOST_BYTES, MOST_TRANSFERS, TransferBatch
from minicrawl.cluster.channels.outbox import (
    AGE_PART,
    QUICK_SHARDS,
    QUICKEST_S,
    Posting,
    UnpostedBatches,
    exchange_interval_s,
)
from minicrawl.cluster.records import MOST_HOPS, RecordError, ShardFacts, Transfer
from minicrawl.cluster.traffic.pots import levelling_transfers
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.channels import ChannelEnd, Channels, ShardPlace, shard_of
from minicrawl.opic.ledger.money import UNIT
from minicrawl.store.records import StoreTerms
from tests.cluster.hand_shards import HandShard


def test_the_shard_of_a_site_never_changes() -> None:
    # Shards are kept in stores: with another result, one page would become two.
    assert [shard_of(site, 64) for site in ("example.org", "debian.org", "localhost", "")] == [
        *(9, 54, 4, 57),
    ]
    assert [shard_of("example.org", shards) for shards in (1, 3, 1000)] == [0, 0, 143]
    assert ShardPlace(0, 1000).owner("example.org") == 143


def test_sites_are_spread_evenly() -> None:
    counts = Counter(shard_of(f"site{number}.example", 64) for number in range(64_000))
    assert len(counts) == 64
    assert 850 < min(counts.values()) <= max(counts.values()) < 1150


transfers = st.builds(
    Transfer,
    st.text(st.characters(codec="ascii"), min_size=1),
    st.integers(0, (UNIT << 31) - 1),
    st.integers(0, 99),
    st.integers(0, MOST_HOPS),
)
batches = st.builds(
    TransferBatch,
    st.integers(0, 63),
    st.integers(0, 63),
    st.integers(1, 1 << 60),
    st.lists(transfers, max_size=20, unique_by=lambda transfer: transfer.url),
    st.integers(0, UNIT),
)


@given(batches)
def test_a_packed_batch_is_read_back_unchanged(batch: TransferBatch) -> None:
    assert TransferBatch.unpack("a batch", batch.pack()) == batch


ROW = ["http://a/", 5, 0, 0]
ONE = {"sender": 0, "receiver": 1, "number": 1, "transfers": [ROW], "to_pot": 0}


def changed(place: int, value: Any) -> dict[str, Any]:
    return ONE | {list(ONE)[place]: value}


@pytest.mark.parametrize(
    "rows",
    [
        {},
        [],
        {"sender": 0, "receiver": 1, "number": 1},
        changed(0, -1),
        changed(0, "0"),
        changed(1, 1 << 16),
        changed(2, 0),
        changed(2, 1.5),
        changed(2, True),
        changed(3, 5),
        changed(3, [["http://a/", 5, 0]]),
        changed(3, [["", 5, 0, 0]]),
        changed(3, [[None, 5, 0, 0]]),
        changed(3, [["http://a/\ud800", 5, 0, 0]]),
        changed(3, [["http://a/", -5, 0, 0]]),
        changed(3, [["http://a/", 5, 0, MOST_HOPS + 1]]),
        changed(3, [["http://a/", 5, 1 << 31, 0]]),
        changed(3, [["http://a/", True, 0, 0]]),
        changed(3, [ROW, ROW]),
        changed(3, [[f"http://a/{number}", 5, 0, 0] for number in range(MOST_TRANSFERS + 1)]),
        changed(4, -1),
        changed(4, UNIT << 40),
    ],
)
def test_invalid_rows_of_a_batch_are_refused(rows: Any) -> None:
    assert TransferBatch.unpack("a batch", json.dumps(ONE).encode()).number == 1
    with pytest.raises(RecordError):
        TransferBatch.unpack("a batch", json.dumps(rows).encode())


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000, b" " * (MOST_BYTES + 1)])
def test_bytes_that_are_no_batch_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        TransferBatch.unpack("a batch", data)


URLS = {shard_of(f"s{number}.example", 3): f"http://s{number}.example/" for number in range(20)}
"""A URL of each of three shards."""


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[HandShard]:
    """Give shard 0, which knows its seed, and sends at most two pages in a batch."""
    terms = StoreTerms(shard=0, shards=3)
    with closing(HandShard(tmp_path / "crawl.db", terms, Posting(transfers=2))) as shard:
        shard.seeds([URLS[0]], 8)
        yield shard


def test_a_batch_is_due_when_it_is_full_or_has_waited_long_enough(shard: HandShard) -> None:
    shard.read(URLS[0], [URLS[1]])
    outbox = shard.shard.outbox
    assert outbox.due(0.9) == []
    assert outbox.due(0.9, longest_s=0.9) == [1]
    assert outbox.due(1.0) == [1]
    shard.read(URLS[0], [URLS[1], URLS[1] + "more"])
    assert outbox.due(0.0) == [1]


def test_a_batch_has_as_many_urls_as_fit_and_at_least_one(shard: HandShard) -> None:
    shard.read(URLS[0], [URLS[1] + "a", URLS[1] + "b", URLS[1] + "c"])
    outbox = shard.shard.outbox
    assert outbox.next_for(1, lambda _page: 10, most_bytes=15) == [1]
    assert outbox.next_for(1, lambda _page: 10, most_bytes=5) == [1]
    assert outbox.next_for(1, lambda _page: 10, most_bytes=99) == [1, 2]  # the limit of transfers
    assert outbox.next_for(2, lambda _page: 10, most_bytes=99) == []


def test_foreign_pages_with_news_are_sent_even_without_cash(shard: HandShard) -> None:
    shard.read(URLS[0], [URLS[1]])
    shard.send(1)
    outbox = shard.shard.outbox
    assert len(outbox) == 0
    outbox.tell([0, 1], now=0.0)
    assert len(outbox) == 1
    assert shard.shard.sending(1).spending == Spending([1], [0])


def test_transfers_left_over_by_a_batch_wait_from_its_moment_on(shard: HandShard) -> None:
    shard.read(URLS[0], [URLS[1] + "a", URLS[1] + "b", URLS[1] + "c"])
    step = shard.shard.sending(1)
    shard.shard.saw(step, shard.shard.books.apply(step), 5.0)
    assert shard.shard.outbox.due(5.9) == []
    assert shard.shard.outbox.due(6.0) == [1]


def test_cash_for_a_page_that_stands_for_a_foreign_one_is_sent_on_with_one_hop_more(
    shard: HandShard,
) -> None:
    shard.moved(URLS[0], URLS[1])
    shard.send(1)
    shard.receive(TransferBatch(2, 0, 1, [Transfer(URLS[0], 5, 0, 3)]))
    assert shard.ledger.key[1] == 5
    assert shard.shard.outbox.due(9) == [1]
    found = shard.send(1)
    assert found is not None
    assert found.transfers == [Transfer(URLS[1], 5, 0, 4)]


def test_cash_with_too_many_hops_makes_its_page_a_dead_end(shard: HandShard) -> None:
    shard.moved(URLS[0], URLS[1])
    shard.send(1)
    shard.receive(TransferBatch(2, 0, 1, [Transfer(URLS[0], 5, 0, MOST_HOPS)]))
    assert shard.frontier.state[0] == State.BAD_REDIRECT
    assert shard.shard.books.stands_for(0) == 0
    assert shard.shard.outbox.due(9) == []
    assert shard.ledger.missing() == 0


@pytest.mark.parametrize("way", [(1, 2), (0, 0)])
def test_a_batch_for_another_shard_is_refused(way: tuple[int, int], shard: HandShard) -> None:
    with pytest.raises(RecordError, match="came to shard 0"):
        shard.shard.receipt(TransferBatch(*way, 1, []))


def sent(number: int, atoms: int, to: int = 1) -> Step:
    return Step(StepKind.SEND, to, 0, Spending([9], [atoms], (), 2), number)


def test_ends_of_channels_add_up_the_steps_and_are_read_back_from_rows() -> None:
    channels = Channels()
    for step in (sent(1, 5), sent(2, 6), Step(StepKind.DEAD_END, 3), sent(1, 7, to=4)):
        channels.apply(step)
    assert channels.sent == {1: ChannelEnd(2, 15), 4: ChannelEnd(1, 9)}
    assert [channels.next_number(to) for to in (1, 4, 5)] == [3, 2, 1]
    loaded = Channels.from_rows(json.loads(json.dumps(channels.as_rows())))
    assert (loaded.sent, loaded.received) == (channels.sent, {})
    with pytest.raises(ValueError, match="batch 4 follows batch 2"):
        channels.apply(sent(4, 5))


def test_a_foreign_page_is_unsent_until_it_is_first_sent() -> None:
    channels = Channels()
    channels.apply(Step(StepKind.FOREIGN, spending=Spending([8, 9])))
    assert channels.unsent == {8, 9}
    channels.apply(sent(1, 0))
    assert channels.unsent == Channels.from_rows(channels.as_rows()).unsent == {8}


def test_a_received_batch_counts_at_the_end_of_its_channel() -> None:
    channels = Channels()
    channels.apply(sent(1, 5)._replace(kind=StepKind.RECEIVE))
    assert channels.received == {1: ChannelEnd(1, 7)}


def holding(atoms: int, waiting: int) -> ShardFacts:
    return ShardFacts(0, pot=atoms, waiting=waiting)


def test_a_pot_gives_its_surplus_to_pots_below_their_share() -> None:
    pots = {0: holding(90, 10), 1: holding(0, 10), 2: holding(30, 20)}
    assert levelling_transfers(0, pots, least=30) == {1: 30, 2: 30}
    assert levelling_transfers(1, pots) == levelling_transfers(2, pots) == {}
    assert levelling_transfers(0, pots, least=31) == {}
    for level in (1, 0):  # with and without unread pages
        assert levelling_transfers(0, {0: holding(5, level), 1: holding(5, level)}) == {}


@given(st.dictionaries(st.integers(0, 9), st.tuples(st.integers(-50, 1 << 60), st.integers(0, 99))))
def test_no_pot_gives_more_than_it_holds_and_no_share_is_exceeded(
    pots: dict[int, tuple[int, int]],
) -> None:
    known = {shard: holding(*told) for shard, told in pots.items()}
    after = {shard: max(0, pot.pot) for shard, pot in known.items()}
    for shard in known:
        for other, atoms in levelling_transfers(shard, known).items():
            assert atoms > 0
            after[shard] -= atoms
            after[other] += atoms
    purse, unread = sum(after.values()), sum(pot.waiting for pot in known.values())
    for shard, pot in known.items():
        share = purse * pot.waiting // max(1, unread)
        assert after[shard] >= min(share, max(0, pot.pot))
        rounded = len(known)  # shares are rounded down
        assert after[shard] <= max(share, pot.pot, 0) + rounded


@given(
    st.lists(st.lists(st.integers(0, 1 << 50)), max_size=3),
    st.integers(1, 20),
)
def test_the_threshold_admits_enough_pages_of_all_shards_and_hardly_more(
    shards: list[list[int]], pages: int
) -> None:
    level = cash_threshold([sketch(np.array(keys, np.int64), len(keys)) for keys in shards], pages)
    keys = [key for own in shards for key in own]
    assert sum(key >= level for key in keys) >= min(pages, len(keys))
    if len(keys) < pages:
        assert level == NO_THRESHOLD
    elif level:
        assert sum(key >= level * 2 ** (1 / 8) * 1.000001 for key in keys) < pages


def test_a_sketch_counts_the_richest_pages_only() -> None:
    keys = np.array([UNIT << place for place in range(10)])
    assert sum(sketch(keys, 3).values()) == 3
    assert cash_threshold([sketch(keys, 3)], 3) == UNIT << 7


AGES = st.floats(0, 1e6)
SHARDS = st.integers(1, 10_000)
AGAIN_S = 10.0


def test_the_interval_is_a_small_part_of_the_age_of_the_crawl() -> None:
    assert exchange_interval_s(0, 8, 1.0) == QUICKEST_S
    assert exchange_interval_s(20, 8, 1.0) == 20 * AGE_PART
    assert exchange_interval_s(1000, 8, 1.0) == 1.0
    assert exchange_interval_s(0, 8, 0.05) == 0.05


@given(AGES, AGES, SHARDS)
def test_the_interval_grows_with_age_up_to_the_usual_one(
    age_s: float, another_s: float, shards: int
) -> None:
    younger, older = sorted((age_s, another_s))
    assert (
        exchange_interval_s(younger, shards, 1.0) <= exchange_interval_s(older, shards, 1.0) <= 1.0
    )


@given(AGES, SHARDS)
def test_all_shards_together_never_exceed_the_limit_of_messages_or_the_usual_number(
    age_s: float, shards: int
) -> None:
    most = QUICK_SHARDS**2 / QUICKEST_S
    messages = shards**2 / exchange_interval_s(age_s, shards, 1.0)
    assert messages <= max(most * (1 + 1e-9), shards**2)


def test_posted_batches_are_never_sent_again() -> None:
    unposted = UnpostedBatches(AGAIN_S)
    for now in range(100):
        assert not list(unposted.overdue({1: now}, {1: now - 1}, 8.0 * now))
    assert not list(unposted.overdue({1: 99}, {1: 99}, 10_000.0))


def test_a_batch_that_is_not_posted_is_sent_again_at_doubling_intervals() -> None:
    unposted = UnpostedBatches(AGAIN_S)
    times = [
        now
        for now in range(100)
        if list(unposted.overdue({1: 7, 2: 3}, {1: 0, 2: 3}, float(now))) == [(1, 0)]
    ]
    assert times == [10, 30, 70]


def test_progress_of_the_receiver_starts_the_wait_anew() -> None:
    unposted = UnpostedBatches(AGAIN_S)
    found = [list(unposted.overdue({1: 7}, {1: 5}, now)) for now in (0.0, 10.0, 29.0)]
    assert found == [[], [(1, 5)], []]
    found = [list(unposted.overdue({1: 7}, {1: 6}, now)) for now in (30.0, 39.0, 40.0)]
    assert found == [[], [], [(1, 6)]]


def test_a_shard_that_tells_no_facts_is_sent_nothing_again() -> None:
    unposted = UnpostedBatches(AGAIN_S)
    assert not any(list(unposted.overdue({1: 7}, {}, float(now))) for now in range(0, 1000, 10))
