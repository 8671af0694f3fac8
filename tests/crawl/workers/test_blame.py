"""Which call was worked on: by hand, then in a process that ends."""

import asyncio
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing

import pytest

from minicrawl.crawl.workers.supervisor import BlameMark, SharedBlameMark, marked


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


def test_marked_work_is_a_task_like_any_other() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await asyncio.sleep(0)
        return 3

    async def both() -> list[int]:
        mark = BlameMark()
        return list(await asyncio.gather(marked(mark, 1, work), marked(mark, 2, work)))

    assert asyncio.run(both()) == [3, 3]


_ENDS = """
import os, sys
from minicrawl.crawl.workers.supervisor import BlameMark
BlameMark(int(sys.argv[1])).call = 1 << 40
os._exit(1)
"""


def test_a_process_that_ends_leaves_its_mark() -> None:
    with closing(SharedBlameMark()) as mark:
        number = mark.descriptor
        command = [sys.executable, "-c", _ENDS, str(number)]
        assert subprocess.run(command, pass_fds=(number,), check=False).returncode == 1
        assert mark.call == 1 << 40
