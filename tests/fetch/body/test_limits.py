import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from itertools import count

import pytest

from minicrawl.fetch.body import Body, BodyLimits, BodyVerdict, DecodeBudget, read_body

PAGE = b"".join(b"%d," % number for number in range(100_000))
CODED = gzip.compress(PAGE)
BODIES = 4


async def once() -> AsyncIterator[bytes]:
    yield CODED


def test_bodies_that_take_their_time_leave_the_loop_a_turn_between_their_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each slice takes four milliseconds here; a breath is five."""
    looks = count()
    monkeypatch.setattr("minicrawl.fetch.body.perf_counter", lambda: next(looks) * 0.004)

    async def work() -> list[int]:
        limits = BodyLimits(DecodeBudget(10_000_000))
        reading = [
            asyncio.create_task(read_body(once(), ["gzip"], 10_000_000, BodyVerdict.WANTED, limits))
            for _ in range(BODIES)
        ]
        turns: list[int] = []
        seen = 0
        while not all(one.done() for one in reading):
            await asyncio.sleep(0)
            looked = next(looks)
            turns.append((looked - seen) // 2)
            seen = looked
        for one in reading:
            body = await one
            assert isinstance(body, Body)
            assert (body.content, body.cut) == (PAGE, None)
        return turns

    turns = asyncio.run(work())
    # A slice more than a breath is, and what it takes to put a body together at its end.
    assert max(turns) <= 2 + BODIES
    assert sum(turns) > BODIES * len(PAGE) / 65_536


@dataclass(eq=False)
class Part:
    held: int = 0
    cap: int = 1000
    is_cut: bool = False

    def cut_here(self) -> None:
        self.is_cut = True


def grow(decode_budget: DecodeBudget, body: Part, size: int) -> None:
    body.held += size
    decode_budget.hold(body, size)


def in_loop(work: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(work())


def test_a_breath_is_for_all_bodies_and_begins_anew_with_each_turn() -> None:
    async def work() -> None:
        decode_budget = DecodeBudget(10_000_000)
        for _ in range(2):
            for _ in range(4):
                decode_budget.spend(0.001)
                assert not decode_budget.is_spent
            decode_budget.spend(0.0011)
            assert decode_budget.is_spent
            await decode_budget.wait()
            assert not decode_budget.is_spent

    in_loop(work)


def test_who_waits_goes_on_when_others_have_not_taken_the_turn_before() -> None:
    async def work() -> None:
        decode_budget, told = DecodeBudget(10_000_000), list[int]()

        async def take(number: int) -> None:
            await decode_budget.wait()
            decode_budget.spend(1)
            told.append(number)

        decode_budget.spend(1)
        taking = [asyncio.create_task(take(number)) for number in range(3)]
        before = 0
        while len(told) < len(taking):
            await asyncio.sleep(0)
            assert len(told) <= before + 1
            before = len(told)

    in_loop(work)


def test_beyond_the_most_the_largest_is_cut_where_it_is() -> None:
    async def work() -> None:
        decode_budget, small, large, other = DecodeBudget(1500), Part(), Part(), Part()
        for body, size in ((large, 900), (small, 100), (other, 500)):
            grow(decode_budget, body, size)
        assert not large.is_cut
        grow(decode_budget, small, 1)
        assert [body.is_cut for body in (small, large, other)] == [False, True, False]
        grow(decode_budget, small, 800)
        assert not small.is_cut
        decode_budget.release(other)
        decode_budget.release(large)
        grow(decode_budget, Part(), 500)
        assert not small.is_cut

    in_loop(work)


def test_one_body_alone_may_be_as_large_as_its_cap() -> None:
    async def work() -> None:
        decode_budget, sitemap, page = DecodeBudget(1500), Part(cap=5000), Part()
        grow(decode_budget, sitemap, 5000)
        assert not sitemap.is_cut
        grow(decode_budget, page, 1)
        assert sitemap.is_cut

    in_loop(work)
