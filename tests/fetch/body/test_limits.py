import asyncio
import gzip
from dataclasses import dataclass
from itertools import pairwise

from minicrawl.fetch.body import Body, BodyLimits, BodyVerdict, DecodeBudget, read_body

PAGE = b"".join(b"%d," % number for number in range(100_000))
CODED = gzip.compress(PAGE)
BODIES = 4


class SlowDecoding(DecodeBudget):
    """Budget for which each slice takes 4 ms; a turn of the event loop has 5 ms."""

    slices = 0

    def spend(self, seconds: float) -> None:
        self.slices += 1
        super().spend(0.004)


async def test_slow_bodies_leave_the_event_loop_a_turn_between_their_slices() -> None:
    budget = SlowDecoding(10_000_000)
    reading = [
        asyncio.create_task(
            read_body(CODED, ["gzip"], 10_000_000, BodyVerdict.WANTED, BodyLimits(budget))
        )
        for _ in range(BODIES)
    ]
    slices = [0]
    while not all(task.done() for task in reading):
        await asyncio.sleep(0)
        slices.append(budget.slices)
    for task in reading:
        body = await task
        assert isinstance(body, Body)
        assert (body.content, body.cut) == (PAGE, None)
    # Two slices use up the budget of a turn; each body needs one more at its end.
    assert max(now - before for before, now in pairwise(slices)) <= 2 + BODIES
    assert budget.slices > BODIES * len(PAGE) / 65_536


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


async def test_one_waiting_body_goes_on_per_turn_if_it_uses_up_the_time() -> None:
    decode_budget, taken = DecodeBudget(10_000_000), list[int]()

    async def take(number: int) -> None:
        await decode_budget.wait()
        decode_budget.spend(1)
        taken.append(number)

    decode_budget.spend(1)
    taking = [asyncio.create_task(take(number)) for number in range(3)]
    before = 0
    while len(taken) < len(taking):
        await asyncio.sleep(0)
        assert len(taken) <= before + 1
        before = len(taken)


async def test_beyond_the_limit_of_memory_the_largest_body_is_cut() -> None:
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


async def test_one_body_alone_may_be_as_large_as_its_cap() -> None:
    decode_budget, sitemap, page = DecodeBudget(1500), Part(cap=5000), Part()
    grow(decode_budget, sitemap, 5000)
    assert not sitemap.is_cut
    grow(decode_budget, page, 1)
    assert sitemap.is_cut
