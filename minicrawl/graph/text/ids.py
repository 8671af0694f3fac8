"""The numbers of an edge list as the names of its nodes."""

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.named import NodeHosts


class Ids:
    """Node i is called by the i-th of these numbers, which ascend, in decimal digits."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, nodes: Sequence[int]) -> list[str]:
        return list(map(str, self._ids[np.asarray(nodes, dtype=np.int64)].tolist()))

    def find(self, names: Sequence[str]) -> list[int | None]:
        return [self._node(name) for name in names]

    def hosts(self) -> NodeHosts:
        return NodeHosts(np.arange(len(self), dtype=np.int32), _Digits(self._ids))

    def _node(self, name: str) -> int | None:
        if not (name.isascii() and name.isdigit()):
            return None
        number = int(name)
        place = int(np.searchsorted(self._ids, number)) if number < _LIMIT else len(self)
        return place if place < len(self) and self._ids[place] == number else None


class _Digits(Sequence[str]):
    """The numbers as texts, of which none is kept."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        found = self._ids[place].tolist()
        return list(map(str, found)) if isinstance(place, slice) else str(found)


_LIMIT = 2**63
