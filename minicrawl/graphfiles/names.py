"""Names of nodes: each takes its own bytes and 8 more, without an object for it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from minicrawl.graph.named_graph import NodeHosts
from minicrawl.web import urls

_SCHEMES = ("http://", "https://")


class Texts:
    """Names as written, in the order of the nodes; two nodes may have the same name."""

    def __init__(self, names: Sequence[bytes]) -> None:
        self._text = b"".join(names)
        lengths = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
        self._starts = np.concatenate(([0], np.cumsum(lengths)))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def of(self, nodes: Sequence[int]) -> list[str]:
        places = np.asarray(nodes, dtype=np.int64)
        starts, ends = self._starts[places].tolist(), self._starts[places + 1].tolist()
        return [self._name(start, end) for start, end in zip(starts, ends, strict=True)]

    def find(self, names: Sequence[str]) -> list[int | None]:
        """Look up all names in one pass over the nodes."""
        nodes: dict[str, int | None] = dict.fromkeys(names)
        for node, name in enumerate(self._all()):
            if name in nodes and nodes[name] is None:
                nodes[name] = node
        return [nodes[name] for name in names]

    def hosts(self) -> NodeHosts:
        """Return the hosts of all nodes; a name that is not a URL is its own host."""
        numbers: dict[str, int] = {}
        of_node = np.fromiter(
            (numbers.setdefault(_host(name), len(numbers)) for name in self._all()),
            dtype=np.int32,
            count=len(self),
        )
        return NodeHosts(of_node, list(numbers))

    def _all(self) -> Iterator[str]:
        return (self._name(start, end) for start, end in pairwise(self._starts.tolist()))

    def _name(self, start: int, end: int) -> str:
        return self._text[start:end].decode(errors="backslashreplace")


def _host(name: str) -> str:
    return urls.host(name).lower() if name.startswith(_SCHEMES) else name
