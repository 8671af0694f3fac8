import asyncio

import pytest

from minicrawl.crawl.workers import parser
from minicrawl.crawl.workers.parser import ROUND_S, LoopRounds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of work so far, in a list of one item."""
    seconds = [0.0]
    monkeypatch.setattr(parser, "perf_counter", lambda: seconds[0])
    return seconds


async def rounds_of(pages: int, work_s: float, clock: list[float]) -> list[int]:
    """Return in which round of the loop each page went on."""
    rounds, now, went_on = LoopRounds(), 0, []

    async def count_rounds() -> None:
        nonlocal now
        while True:
            now += 1
            await asyncio.sleep(0)

    async def page() -> None:
        await rounds.turn()
        went_on.append(now)
        clock[0] += work_s

    counting = asyncio.create_task(count_rounds())
    await asyncio.gather(*(page() for _ in range(pages)))
    counting.cancel()
    return went_on


def test_pages_that_take_long_go_on_one_a_round(clock: list[float]) -> None:
    went_on = asyncio.run(rounds_of(5, ROUND_S * 1.5, clock))
    assert sorted(set(went_on)) == went_on
    assert len(went_on) == 5


def test_pages_that_take_no_time_go_on_together(clock: list[float]) -> None:
    assert len(set(asyncio.run(rounds_of(50, 0, clock)))) == 1
