"""Which call was worked on; test_supervisor kills a process in the midst of one."""

import asyncio
from collections.abc import Generator

import pytest

from minicrawl.crawl.workers.supervisor import BlameMark, marked


class Pause:
    """Something to wait for."""

    def __await__(self) -> Generator[None, str, str]:
        return (yield)


def test_the_mark_is_set_while_there_is_work_and_not_while_it_waits() -> None:
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


def test_what_is_thrown_into_the_work_comes_out_of_it() -> None:
    async def work() -> None:
        await Pause()

    mark = BlameMark()
    for thrown in (ZeroDivisionError, asyncio.CancelledError):
        steps = marked(mark, 7, work)
        steps.send(None)
        with pytest.raises(thrown):
            steps.throw(thrown())
        assert mark.call == 0
