import asyncio
import gzip
from itertools import pairwise

from minicrawl.fetch.body.reading import Body, BodyLimits, BodyVerdict, DecodeBudget, read_body

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
