import asyncio
from time import perf_counter

from minicrawl.crawl.turns.loop_rounds import ROUND_S, LoopRounds


async def rounds_of(pages: int, work_s: float) -> list[int]:
    """In which round of the loop each page went on."""
    rounds, now, went_on = LoopRounds(), 0, []

    async def count_rounds() -> None:
        nonlocal now
        while True:
            now += 1
            await asyncio.sleep(0)

    async def page() -> None:
        await rounds.turn()
        went_on.append(now)
        ends = perf_counter() + work_s
        while perf_counter() < ends:
            pass

    counting = asyncio.create_task(count_rounds())
    await asyncio.gather(*(page() for _ in range(pages)))
    counting.cancel()
    return went_on


def test_pages_that_take_long_go_on_one_a_round() -> None:
    went_on = asyncio.run(rounds_of(5, ROUND_S * 1.5))
    assert sorted(set(went_on)) == went_on
    assert len(went_on) == 5


def test_pages_that_take_no_time_go_on_together() -> None:
    assert len(set(asyncio.run(rounds_of(50, 0)))) < 10
