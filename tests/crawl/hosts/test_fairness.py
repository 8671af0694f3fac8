"""Who waits for what it has cost: by hand, then what follows for a crowd."""

import asyncio

import pytest

from minicrawl.crawl.hosts.pacing import FairLock
from minicrawl.crawl.hosts.politeness import FREE_S, MANY_TIMES, SHARE, WINDOW_S, FairShare
from tests.crawl.coroutines import in_loop

USUAL_S = 0.0005
DEAR_S = 0.05


def crowd(count: int, cost_s: float = USUAL_S) -> FairShare:
    """Cheap hosts, asked a moment ago."""
    fair = FairShare()
    for number in range(count):
        fair.pause_s(f"cheap{number}", cost_s, 0.0)
    return fair


def test_a_usual_request_is_free() -> None:
    fair = crowd(5)
    assert fair.pause_s("cheap0", FREE_S, 1.0) == 0
    assert fair.pause_s("other", USUAL_S, 1.0) == 0


def test_who_costs_more_waits_for_the_excess_so_that_half_of_a_processor_is_its_share() -> None:
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


def test_where_all_cost_alike_nobody_waits() -> None:
    fair = crowd(20, cost_s=DEAR_S)
    fair.pause_s("one", DEAR_S, 2.0)  # what is usual is looked at now and then
    assert fair.pause_s("cheap1", DEAR_S * (MANY_TIMES - 1), 2.0) == 0


def test_many_attackers_do_not_make_an_attack_usual() -> None:
    fair = crowd(20)
    for round_s in (2.0, 4.0):
        for number in range(64):
            fair.pause_s(f"dear{number}", DEAR_S, round_s)
    assert fair.pause_s("dear0", DEAR_S, 6.0) > DEAR_S
    assert fair.pause_s("cheap0", USUAL_S, 6.0) == 0


def test_who_was_expensive_long_ago_does_not_count_any_more() -> None:
    fair = crowd(5)
    fair.pause_s("was", DEAR_S, 1.0)
    pause_s = fair.pause_s("is", DEAR_S, 2 + WINDOW_S)
    assert pause_s == pytest.approx((DEAR_S - FREE_S) / SHARE)


def test_a_page_that_is_settled_unasked_may_cost_less_than_a_request() -> None:
    fair = crowd(5)
    assert fair.pause_unasked_s("dear", FREE_S / 10, 1.0) == 0
    assert fair.pause_unasked_s("dear", FREE_S, 1.0) > 0


def test_of_hosts_without_end_only_the_last_are_known() -> None:
    fair = crowd(10_000)
    assert len(fair._means) < 5000


# ---------------------------------------------------------------- what only one can have


class Desk:
    """A lock, and in which order hosts had it."""

    def __init__(self) -> None:
        self.lock, self.had = FairLock(), list[str]()

    async def work(self, host: str, cost_s: float = 0.0) -> None:
        async with self.lock.held_for(host):
            self.had.append(host)
            await asyncio.sleep(0)
            self.lock.charge(host, cost_s)


@in_loop
async def test_of_those_who_wait_the_one_that_has_cost_least_is_next_and_of_equals_the_first() -> (
    None
):
    desk = Desk()
    await desk.work("dear", 5.0)
    desk.had.clear()
    hosts = ("dear", "dear", "one", "other", "one")
    await asyncio.gather(*(desk.work(host, 1.0) for host in hosts))
    assert desk.had == ["dear", "one", "one", "dear", "other"]
    assert not desk.lock._is_taken


@in_loop
async def test_hosts_that_were_never_charged_share_one_account() -> None:
    desk = Desk()
    await desk.work("known", 0.1)
    desk.had.clear()
    strangers = [f"stranger {number}" for number in range(10)]
    await asyncio.gather(*(desk.work(host, 1.0) for host in (*strangers, "known")))
    assert desk.had.index("known") <= 1


@pytest.mark.parametrize("has_it_already", [False, True])
@in_loop
async def test_whoever_is_cancelled_keeps_nobody_from_it(has_it_already: bool) -> None:
    desk = Desk()
    first = asyncio.create_task(desk.work("first"))
    cancelled = asyncio.create_task(desk.work("cancelled"))
    last = asyncio.create_task(desk.work("last"))
    await asyncio.sleep(0)
    if has_it_already:
        desk.lock._call_next()  # as if the first one had left
        desk.lock._is_taken = True
    cancelled.cancel()
    await asyncio.gather(first, last)
    assert "cancelled" not in desk.had
    assert "last" in desk.had
    async with asyncio.timeout(60), desk.lock.held_for("another"):
        pass


@in_loop
async def test_all_may_be_cancelled_at_once() -> None:
    desk = Desk()
    tasks = [asyncio.create_task(desk.work(f"{number}")) for number in range(5)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    async with asyncio.timeout(60), desk.lock.held_for("another"):
        pass


def test_of_hosts_that_had_it_only_the_last_are_known() -> None:
    lock = FairLock()
    for number in range(5000):
        lock.charge(f"{number}", 1.0)
    assert len(lock._costs_s) <= 1000
