"""Hosts wait for the processor time that they cost; locks are given to the cheapest host."""

import asyncio

import pytest

from minicrawl.crawl.hosts.pacing import FairLock
from minicrawl.crawl.hosts.politeness import FREE_S, MANY_TIMES, SHARE, WINDOW_S, FairShare
from tests.crawl.coroutines import in_loop

USUAL_S = 0.0005
DEAR_S = 0.05


def crowd(count: int, cost_s: float = USUAL_S) -> FairShare:
    """Return a `FairShare` that knows cheap hosts, each requested a moment ago."""
    fair = FairShare()
    for number in range(count):
        fair.pause_s(f"cheap{number}", cost_s, 0.0)
    return fair


def test_an_expensive_host_waits_so_that_it_takes_half_of_a_processor() -> None:
    fair = crowd(5)
    assert fair.pause_s("dear", DEAR_S, 1.0) == pytest.approx((DEAR_S - FREE_S) / SHARE)


def test_all_expensive_hosts_share_that_half() -> None:
    fair = crowd(5)
    pauses = [fair.pause_s(f"dear{n}", DEAR_S, 1.0) for n in range(64)]
    assert pauses[-1] == pytest.approx(64 * (DEAR_S - FREE_S) / SHARE)
    used = sum((DEAR_S - FREE_S) / (64 * (DEAR_S - FREE_S) / SHARE) for _ in range(64))
    assert used == pytest.approx(SHARE)


def test_a_host_that_is_alone_waits_for_nobody() -> None:
    fair = FairShare()
    assert fair.pause_s("dear", DEAR_S, 1.0) == 0
    assert fair.pause_unasked_s("dear", DEAR_S, 1.0) == 0


def test_where_all_hosts_cost_the_same_none_waits() -> None:
    fair = crowd(20, cost_s=DEAR_S)
    fair.pause_s("one", DEAR_S, 2.0)  # the usual cost is measured now and then
    assert fair.pause_s("cheap1", DEAR_S * (MANY_TIMES - 1), 2.0) == 0


def test_many_expensive_hosts_do_not_raise_the_usual_cost() -> None:
    fair = crowd(20)
    for round_s in (2.0, 4.0):
        for number in range(64):
            fair.pause_s(f"dear{number}", DEAR_S, round_s)
    assert fair.pause_s("dear0", DEAR_S, 6.0) > DEAR_S
    assert fair.pause_s("cheap0", USUAL_S, 6.0) == 0


def test_a_host_that_was_expensive_long_ago_does_not_count() -> None:
    fair = crowd(5)
    fair.pause_s("was", DEAR_S, 1.0)
    pause_s = fair.pause_s("is", DEAR_S, 2 + WINDOW_S)
    assert pause_s == pytest.approx((DEAR_S - FREE_S) / SHARE)


def test_a_page_settled_without_a_request_may_cost_less_than_a_request() -> None:
    fair = crowd(5)
    assert fair.pause_unasked_s("dear", FREE_S / 10, 1.0) == 0
    assert fair.pause_unasked_s("dear", FREE_S, 1.0) > 0


def test_of_very_many_hosts_only_the_last_are_remembered() -> None:
    fair = crowd(10_000)
    assert len(fair._means) < 5000


# ---------------------------------------------------------------- locks


class LockUsers:
    """A lock, and the hosts that held it, in order."""

    def __init__(self) -> None:
        self.lock, self.held = FairLock(), list[str]()

    async def hold(self, host: str, cost_s: float = 0.0) -> None:
        async with self.lock.held_for(host):
            self.held.append(host)
            await asyncio.sleep(0)
            self.lock.charge(host, cost_s)


@in_loop
async def test_the_cheapest_waiting_host_is_next_and_of_equals_the_first() -> None:
    users = LockUsers()
    await users.hold("dear", 5.0)
    users.held.clear()
    hosts = ("dear", "dear", "one", "other", "one")
    await asyncio.gather(*(users.hold(host, 1.0) for host in hosts))
    assert users.held == ["dear", "one", "one", "dear", "other"]
    assert not users.lock._is_taken


@in_loop
async def test_hosts_that_were_never_charged_count_as_one() -> None:
    users = LockUsers()
    await users.hold("known", 0.1)
    users.held.clear()
    strangers = [f"stranger {number}" for number in range(10)]
    await asyncio.gather(*(users.hold(host, 1.0) for host in (*strangers, "known")))
    assert users.held.index("known") <= 1


@pytest.mark.parametrize("has_the_lock", [False, True])
@in_loop
async def test_a_cancelled_waiter_does_not_keep_the_lock_from_others(has_the_lock: bool) -> None:
    users = LockUsers()
    first = asyncio.create_task(users.hold("first"))
    cancelled = asyncio.create_task(users.hold("cancelled"))
    last = asyncio.create_task(users.hold("last"))
    await asyncio.sleep(0)
    if has_the_lock:
        users.lock._call_next()  # as if the first host had released the lock
        users.lock._is_taken = True
    cancelled.cancel()
    await asyncio.gather(first, last)
    assert "cancelled" not in users.held
    assert "last" in users.held
    async with asyncio.timeout(60), users.lock.held_for("another"):
        pass


@in_loop
async def test_all_waiters_may_be_cancelled_at_once() -> None:
    users = LockUsers()
    tasks = [asyncio.create_task(users.hold(f"{number}")) for number in range(5)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    async with asyncio.timeout(60), users.lock.held_for("another"):
        pass


def test_of_hosts_that_held_the_lock_only_the_last_are_remembered() -> None:
    lock = FairLock()
    for number in range(5000):
        lock.charge(f"{number}", 1.0)
    assert len(lock._costs_s) <= 1000
