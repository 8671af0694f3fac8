"""How many links lie between pages: breadth first, a whole level at a time.

Law: the level of a page is the number of links on the shortest directed path to it from the
nearest source; sources are on level 0, and what no path leads to is UNREACHED. The work is one
look at every link that leaves a reached page, however many levels there are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr

UNREACHED = -1

Nodes = Sequence[int] | NDArray[np.integer]


def levels(graph: Csr, sources: Nodes) -> NDArray[np.int32]:
    """The level of every page."""
    level = np.full(graph.nodes, UNREACHED, dtype=np.int32)
    # Where a page stood last in a list of finds: a page once, without sorting the finds.
    place = np.empty(graph.nodes, dtype=np.int64)
    found: NDArray[np.integer] = np.asarray(sources, dtype=np.int64)
    depth = 0
    while found.size:
        level[found] = depth
        order = np.arange(len(found))
        place[found] = order
        found = linked_from(graph, found[place[found] == order])
        found = found[level[found] == UNREACHED]
        depth += 1
    return level


def linked_from(graph: Csr, pages: NDArray[np.integer]) -> NDArray[np.int32]:
    """The targets of all links that leave these pages, page after page."""
    starts = graph.starts[pages]
    counts = graph.starts[pages + 1] - starts
    ends = np.cumsum(counts)
    positions = np.repeat(starts - ends + counts, counts)
    positions += np.arange(len(positions))
    targets: NDArray[np.int32] = graph.targets[positions]
    return targets
