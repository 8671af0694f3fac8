"""Columns of numbers in files, and sorting of columns that exceed the memory.

A run is a column of sorted numbers, as many as fit into memory. Runs are merged, in rounds if
there are many.
"""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from itertools import count
from operator import sub
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.link_builder import squeeze

Number = TypeVar("Number", np.int32, np.int64, np.float64)


@dataclass(slots=True)
class DiskTraffic:
    """Reads and writes of files, and their bytes."""

    reads: int = 0
    bytes_read: int = 0
    writes: int = 0
    bytes_written: int = 0

    def since(self, before: "DiskTraffic") -> "DiskTraffic":
        return DiskTraffic(*map(sub, astuple(self), astuple(before)))


class DiskColumn(Generic[Number]):
    """Numbers in a file, at first `count` zeros. `traffic` counts the reads and writes."""

    def __init__(
        self,
        path: Path,
        kind: type[Number],
        count: int = 0,
        traffic: DiskTraffic | None = None,
    ) -> None:
        self.path = path
        self._traffic = traffic or DiskTraffic()
        self._kind: np.dtype[Number] = np.dtype(kind)
        with path.open("wb") as file:
            file.truncate(count * self._kind.itemsize)

    def __len__(self) -> int:
        return self.path.stat().st_size // self._kind.itemsize

    def read(self, first: int, count: int) -> NDArray[Number]:
        """Return `count` numbers, or fewer at the end of the file."""
        with self.path.open("rb", buffering=0) as file:
            file.seek(first * self._kind.itemsize)
            content = file.read(count * self._kind.itemsize)
        self._traffic.reads += 1
        self._traffic.bytes_read += len(content)
        return np.frombuffer(content, dtype=self._kind)

    def write(self, first: int, numbers: NDArray[Number]) -> None:
        with self.path.open("r+b", buffering=0) as file:
            file.seek(first * self._kind.itemsize)
            file.write(numbers.astype(self._kind, copy=False).tobytes())
        self._traffic.writes += 1
        self._traffic.bytes_written += len(numbers) * self._kind.itemsize

    def append(self, numbers: NDArray[Number]) -> None:
        self.write(len(self), numbers)

    def remove(self) -> None:
        self.path.unlink()

    def whole(self) -> NDArray[Number]:
        """Return all numbers, mapped into memory. The mapping survives the removal of the file."""
        return np.memmap(self.path, dtype=self._kind, mode="r")


Numbers = NDArray[np.int64]

_MOST_RUNS = 64
"""Most runs merged at a time: with more, each read would be too small."""


class Sorter:
    """External sort of non-negative integers, without duplicates; for a single use.

    Memory never holds more than twice `at_once` numbers.
    """

    def __init__(self, folder: Path, at_once: int) -> None:
        self._names = (folder / f"run-{number}" for number in count())
        self._at_once = at_once
        self._waiting = np.empty(at_once, dtype=np.int64)
        self._used = 0
        self._runs: list[DiskColumn[np.int64]] = []

    def add(self, numbers: Numbers) -> None:
        while len(numbers):
            part = numbers[: self._at_once - self._used]
            self._waiting[self._used : self._used + len(part)] = part
            self._used += len(part)
            if self._used == self._at_once:
                self._end_run()
            numbers = numbers[len(part) :]

    def in_order(self) -> Iterator[Numbers]:
        """Yield the sorted numbers in parts. A part is valid until the next one is requested."""
        self._end_run()
        self._waiting = np.empty(0, dtype=np.int64)
        while len(self._runs) > _MOST_RUNS:
            runs, self._runs = self._runs[:_MOST_RUNS], self._runs[_MOST_RUNS:]
            self._runs.append(self._run(self._merged(runs)))
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
        share = self._at_once // max(len(runs), 1) + 1
        heads = [head for run in runs if (head := _Head(run, share)).numbers.size]
        while heads:
            # No unread number of a run is below the last number read of it. So up to the least of
            # these last numbers, nothing is missing.
            bound = min(int(head.numbers[-1]) for head in heads)
            part = np.concatenate([head.up_to(bound) for head in heads])
            part.sort()
            yield part[: squeeze(part)]
            heads = [head for head in heads if head.numbers.size]
        for run in runs:
            run.remove()


class _Head:
    """The next numbers of a run, read in portions."""

    def __init__(self, run: DiskColumn[np.int64], at_once: int) -> None:
        self._run, self._at_once, self._read = run, at_once, 0
        self.numbers = self._next()

    def up_to(self, bound: int) -> Numbers:
        """Remove and return the numbers up to `bound`."""
        end = int(np.searchsorted(self.numbers, bound, side="right"))
        taken, self.numbers = self.numbers[:end], self.numbers[end:]
        if not self.numbers.size:
            self.numbers = self._next()
        return taken

    def _next(self) -> Numbers:
        numbers = self._run.read(self._read, self._at_once)
        self._read += len(numbers)
        return numbers
