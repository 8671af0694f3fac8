import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass

from minicrawl.fetch.bodies import Body, read_body
from minicrawl.fetch.pace import Breath, Pace

BOMB = gzip.compress(bytes(5_000_000))


async def once() -> AsyncIterator[bytes]:
    yield BOMB


def test_bombs_that_come_at_once_are_decoded_in_a_turn_of_the_loop_each() -> None:
    async def work() -> list[int]:
        pace, done = Pace(Breath(10_000_000)), 0
        turns: list[int] = []

        async def read() -> None:
            nonlocal done
            assert await read_body(once(), ["gzip"], 10_000_000, True, pace) == Body(
                bytes(5_000_000), len(BOMB), cut=None
            )
            done += 1

        reading = [asyncio.create_task(read()) for _ in range(4)]
        while done < 4:
            before = done
            await asyncio.sleep(0)
            turns.append(done - before)
        await asyncio.gather(*reading)
        return turns

    assert max(asyncio.run(work())) == 1


@dataclass(eq=False)
class Part:
    length: int = 0
    cap: int = 1000
    is_cut: bool = False

    def cut_here(self) -> None:
        self.is_cut = True


def grow(breath: Breath, body: Part, size: int) -> None:
    body.length += size
    breath.draw(body, size, came=1)


def in_loop(work: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(work())


def test_a_little_of_many_bodies_is_decoded_in_one_turn() -> None:
    async def work() -> None:
        breath = Breath(10_000_000)
        for _ in range(100):
            grow(breath, Part(), 10_001)
        assert not breath.is_out
        grow(breath, Part(), 2)
        assert breath.is_out
        await breath.wait()
        assert not breath.is_out

    in_loop(work)


def turns_until_it_is_drawn_again(size: int, came: int) -> int:
    """Turns of the loop, after a body of `size` bytes was made of so many that came."""

    async def work() -> int:
        breath = Breath(10_000_000)
        breath.draw(Part(), size, came)
        turns = 0
        while breath.is_out:
            await asyncio.sleep(0)
            turns += 1
        return turns

    return asyncio.run(work())


def test_only_what_swells_is_spread_over_turns_and_only_after_bombs_there_is_a_rest() -> None:
    assert turns_until_it_is_drawn_again(size=5_000_000, came=5_000_000) == 0
    assert turns_until_it_is_drawn_again(size=5_000_000, came=500_000) == 1
    assert turns_until_it_is_drawn_again(size=5_000_000, came=5_000) > 1


def test_beyond_the_most_the_largest_is_cut_where_it_is() -> None:
    async def work() -> None:
        breath, small, large, other = Breath(1500), Part(), Part(), Part()
        for body, size in ((large, 900), (small, 100), (other, 500)):
            grow(breath, body, size)
        assert not large.is_cut
        grow(breath, small, 1)
        assert [body.is_cut for body in (small, large, other)] == [False, True, False]
        grow(breath, small, 800)
        assert not small.is_cut
        breath.let_go(other)
        breath.let_go(large)
        grow(breath, Part(), 500)
        assert not small.is_cut

    in_loop(work)


def test_one_body_alone_may_be_as_large_as_its_cap() -> None:
    async def work() -> None:
        breath, sitemap, page = Breath(1500), Part(cap=5000), Part()
        grow(breath, sitemap, 5000)
        assert not sitemap.is_cut
        grow(breath, page, 1)
        assert sitemap.is_cut

    in_loop(work)
