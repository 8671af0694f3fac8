"""The numbers of an edge list as the names of its nodes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.named import Hosts


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

    def hosts(self) -> Hosts:
        nodes = np.arange(len(self), dtype=np.int32)
        return Hosts(nodes, self.of(nodes.tolist()))

    def _node(self, name: str) -> int | None:
        if not (name.isascii() and name.isdigit()):
            return None
        number = int(name)
        place = int(np.searchsorted(self._ids, number)) if number < _LIMIT else len(self)
        return place if place < len(self) and self._ids[place] == number else None


_LIMIT = 2**63
