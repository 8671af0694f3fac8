"""The mark: the number of the call that a child is busy with, which tells who ended it.

`supervisor` has an example. The mark is memory of both processes because memory survives the child,
however it ends. A message "I begin with 8" could still be in the child's own buffer when it
crashes.

Law: the mark is set whenever a call runs, and 0 whenever the child waits.
"""

from collections.abc import Callable, Coroutine, Generator
from mmap import mmap
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_BYTES = 8
_ANONYMOUS = -1


class BlameMark:
    """The mark, in the memory of one of the two processes."""

    def __init__(self, descriptor: int = _ANONYMOUS) -> None:
        self._memory = mmap(descriptor, _BYTES)
        self._number = memoryview(self._memory).cast("Q")

    @property
    def call(self) -> int:
        """Number of the call that the child is busy with, 0 while it waits."""
        return self._number[0]

    @call.setter
    def call(self, number: int) -> None:
        self._number[0] = number

    def close(self) -> None:
        self._number.release()
        self._memory.close()


class SharedBlameMark(BlameMark):
    """Mark that is created here; a process that inherits the descriptor shares it."""

    def __init__(self) -> None:
        # A file rather than anonymous memory: a program that is executed inherits open descriptors,
        # but no mappings.
        from tempfile import TemporaryFile  # children do not need it

        self._file = TemporaryFile()  # noqa: SIM115  # open while processes may inherit it
        self._file.truncate(_BYTES)
        super().__init__(self._file.fileno())

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        super().close()
        self._file.close()


@coroutine
def _marked(mark: BlameMark, call: int, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    step: Callable[[Any], Any] = work.send
    value: Any = None
    while True:
        # Only while the coroutine runs, not while it waits: a worker has many calls under way, and
        # the one that holds the processor is the one that can crash it or never end.
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


async def marked(mark: BlameMark, call: int, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await _marked(mark, call, begin())
