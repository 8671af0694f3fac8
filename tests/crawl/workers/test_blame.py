"""Marks of the call that a process works on; test_supervisor kills a process during a call."""

import asyncio
from collections.abc import Generator

import pytest

from minicrawl.crawl.workers.supervisor import BlameMark, marked


class Pause:
    """An awaitable that waits once."""

    def __await__(self) -> Generator[None, str, str]:
        return (yield)


def test_the_mark_is_set_while_a_call_works_and_not_while_it_waits() -> None:
    mark, seen = BlameMark(), list[int]()

    async def work() -> str:
        seen.append(mark.call)
        said = await Pause()
        seen.append(mark.call)
        return said

    steps = marked(mark, 7, work)
    steps.send(None)
    assert (seen, mark.call) == ([7], 0)
    with pytest.raises(StopIteration) as end:
        steps.send("more")
    assert end.value.value == "more"
    assert (seen, mark.call) == ([7, 7], 0)


def test_exceptions_thrown_into_a_call_come_out_and_clear_the_mark() -> None:
    async def work() -> None:
        await Pause()

    mark = BlameMark()
    for thrown in (ZeroDivisionError, asyncio.CancelledError):
        steps = marked(mark, 7, work)
        steps.send(None)
        with pytest.raises(thrown):
            steps.throw(thrown())
        assert mark.call == 0
