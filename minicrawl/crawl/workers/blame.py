"""Tells which call a worker process was busy with when it ended.

Law: whatever ends a worker, the crawl can read the number of the call that it was working on.

mark   eight bytes of memory that both processes share: that number, 0 while the worker waits
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
    """The mark as one of the two processes sees it."""

    def __init__(self, descriptor: int = _ANONYMOUS) -> None:
        self._memory = mmap(descriptor, _BYTES)

    @property
    def call(self) -> int:
        """The number of the call that the worker is busy with."""
        return int.from_bytes(self._memory, "little")

    @call.setter
    def call(self, number: int) -> None:
        self._memory[:] = number.to_bytes(_BYTES, "little")

    def close(self) -> None:
        """Unmap the memory."""
        self._memory.close()


class SharedBlameMark(BlameMark):
    """Makes the mark; a process that inherits the descriptor shares it."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # open as long as processes may inherit it
        self._file.truncate(_BYTES)
        super().__init__(self._file.fileno())

    @property
    def descriptor(self) -> int:
        """The open file to inherit."""
        return self._file.fileno()

    def close(self) -> None:
        """Unmap the memory and close the file."""
        super().close()
        self._file.close()


async def marked(mark: BlameMark, call: int, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine with the mark set whenever it has the processor."""
    return await _marked(mark, call, begin())


@coroutine
def _marked(mark: BlameMark, call: int, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    step: Callable[[Any], Any] = work.send
    value: Any = None
    while True:
        mark.call = call
        try:
            waits_for = step(value)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            mark.call = 0
        try:
            step, value = work.send, (yield waits_for)
        except BaseException as thrown:
            step, value = work.throw, thrown
