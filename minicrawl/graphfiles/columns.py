"""Numbers in a file: read and written some at a time, never in memory as a whole.

The file is open only while that is done, so that nobody has to close it.
"""

from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.int32, np.int64, np.float64)


class DiskColumn(Generic[Number]):
    """As many numbers as were asked for, 0 at first."""

    def __init__(self, path: Path, kind: type[Number], count: int = 0) -> None:
        self.path = path
        self._kind: np.dtype[Number] = np.dtype(kind)
        with path.open("wb") as file:
            file.truncate(count * self._kind.itemsize)

    def __len__(self) -> int:
        return self.path.stat().st_size // self._kind.itemsize

    def read(self, first: int, count: int) -> NDArray[Number]:
        """So many, or as many as there are."""
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
        """All of them, which stay in the file, also when that has no name any more."""
        return np.memmap(self.path, dtype=self._kind, mode="r")
