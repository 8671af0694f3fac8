"""Whole numbers sorted on disk, where memory is too small: each once, from 0 on.

Laws: never more than twice `at_once` numbers are in memory. A file is open only while it is read or
written, so that nobody has to close it.

column  numbers in a file, read and written some at a time
run     sorted numbers in a column of their own, as many as memory holds
"""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.links import squeeze

Number = TypeVar("Number", np.int32, np.int64, np.float64)


class DiskColumn(Generic[Number]):
    """Numbers in a file; at first there are `count` of them, all 0."""

    def __init__(self, path: Path, kind: type[Number], count: int = 0) -> None:
        self.path = path
        self._kind: np.dtype[Number] = np.dtype(kind)
        with path.open("wb") as file:
            file.truncate(count * self._kind.itemsize)

    def __len__(self) -> int:
        return self.path.stat().st_size // self._kind.itemsize

    def read(self, first: int, count: int) -> NDArray[Number]:
        """This many numbers, or fewer at the end of the file."""
        with self.path.open("rb", buffering=0) as file:
            file.seek(first * self._kind.itemsize)
            return np.frombuffer(file.read(count * self._kind.itemsize), dtype=self._kind)

    def write(self, first: int, numbers: NDArray[Number]) -> None:
        with self.path.open("r+b", buffering=0) as file:
            file.seek(first * self._kind.itemsize)
            file.write(numbers.astype(self._kind, copy=False).tobytes())

    def append(self, numbers: NDArray[Number]) -> None:
        self.write(len(self), numbers)

    def remove(self) -> None:
        self.path.unlink()

    def whole(self) -> NDArray[Number]:
        """All numbers, mapped into memory. They outlive the name of the file."""
        return np.memmap(self.path, dtype=self._kind, mode="r")


Numbers = NDArray[np.int64]

_MOST_RUNS = 64
"""Merged at a time: more would be read in crumbs."""


class Sorter:
    """Takes numbers in any order, gives them sorted, once."""

    def __init__(self, folder: Path, at_once: int) -> None:
        self._names = (folder / f"run-{number}" for number in count())
        self._at_once = at_once
        self._waiting = np.empty(at_once, dtype=np.int64)
        self._used = 0
        self._runs: list[DiskColumn[np.int64]] = []

    def add(self, numbers: Numbers) -> None:
        while len(numbers):
            some = numbers[: self._at_once - self._used]
            self._waiting[self._used : self._used + len(some)] = some
            self._used += len(some)
            if self._used == self._at_once:
                self._end_run()
            numbers = numbers[len(some) :]

    def in_order(self) -> Iterator[Numbers]:
        """Sorted, some at a time. Use them before the next ones: they share their memory."""
        self._end_run()
        self._waiting = np.empty(0, dtype=np.int64)
        while len(self._runs) > _MOST_RUNS:
            some, self._runs = self._runs[:_MOST_RUNS], self._runs[_MOST_RUNS:]
            self._runs.append(self._run(self._merged(some)))
        yield from self._merged(self._runs)

    def _end_run(self) -> None:
        waiting = self._waiting[: self._used]
        waiting.sort()
        if self._used:
            self._runs.append(self._run([waiting[: squeeze(waiting)]]))
        self._used = 0

    def _run(self, parts: Iterable[Numbers]) -> DiskColumn[np.int64]:
        run = DiskColumn(next(self._names), np.int64)
        for part in parts:
            run.append(part)
        return run

    def _merged(self, runs: list[DiskColumn[np.int64]]) -> Iterator[Numbers]:
        """Numbers up to the least of the last numbers that were read of each run are complete."""
        share = self._at_once // max(len(runs), 1) + 1
        heads = [head for run in runs if (head := _Head(run, share)).numbers.size]
        while heads:
            bound = min(int(head.numbers[-1]) for head in heads)
            some = np.concatenate([head.up_to(bound) for head in heads])
            some.sort()
            yield some[: squeeze(some)]
            heads = [head for head in heads if head.numbers.size]
        for run in runs:
            run.remove()


class _Head:
    """What comes next of a run."""

    def __init__(self, run: DiskColumn[np.int64], at_once: int) -> None:
        self._run, self._at_once, self._read = run, at_once, 0
        self.numbers = self._next()

    def up_to(self, bound: int) -> Numbers:
        """Take these off."""
        end = int(np.searchsorted(self.numbers, bound, side="right"))
        taken, self.numbers = self.numbers[:end], self.numbers[end:]
        if not self.numbers.size:
            self.numbers = self._next()
        return taken

    def _next(self) -> Numbers:
        numbers = self._run.read(self._read, self._at_once)
        self._read += len(numbers)
        return numbers
