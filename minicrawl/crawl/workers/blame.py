"""Blame: which question a worker process was at when it ended.

Law: whatever ends a worker, the number of the question that it was working on, if any, is there to
read for the crawl that asked it.

mark     eight bytes of memory that both processes share: that number, 0 while the worker waits
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from mmap import mmap
from tempfile import TemporaryFile
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_BYTES = 8
_ANONYMOUS = -1


class BlameMark:
    """One end of it."""

    def __init__(self, descriptor: int = _ANONYMOUS) -> None:
        self._memory = mmap(descriptor, _BYTES)

    @property
    def question(self) -> int:
        return int.from_bytes(self._memory, "little")

    @question.setter
    def question(self, number: int) -> None:
        self._memory[:] = number.to_bytes(_BYTES, "little")

    def close(self) -> None:
        self._memory.close()


class SharedBlameMark(BlameMark):
    """The end that makes it; a process that inherits the descriptor has the other one."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # open as long as processes may inherit it
        self._file.truncate(_BYTES)
        super().__init__(self._file.fileno())

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        super().close()
        self._file.close()


async def marked(mark: BlameMark, question: int, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The work that is begun, with the mark set while it has the processor."""
    return await _marked(mark, question, begin())


@coroutine
def _marked(mark: BlameMark, question: int, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    step: Callable[[Any], Any] = work.send
    value: Any = None
    while True:
        mark.question = question
        try:
            waits_for = step(value)
        except StopIteration as end:
            answer: T = end.value
            return answer
        finally:
            mark.question = 0
        try:
            step, value = work.send, (yield waits_for)
        except BaseException as thrown:
            step, value = work.throw, thrown
