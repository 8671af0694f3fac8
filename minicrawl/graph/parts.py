"""Parts of a graph: some of its links, or some of its pages and the links between them.

Law: what is kept keeps its order, so that nothing is sorted again. In a part of the pages, page i
is the i-th of those that were kept.
"""

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr

Mask = NDArray[np.bool_]


def with_links(graph: Csr, is_kept: Mask) -> Csr:
    """All pages, and of the links those that `is_kept` tells, in the order of `targets`."""
    kept_before = np.zeros(graph.edges + 1, dtype=np.int64)
    np.cumsum(is_kept, out=kept_before[1:])
    return Csr(starts=kept_before[graph.starts], targets=graph.targets[is_kept])


def links_between(graph: Csr, is_kept: Mask) -> Mask:
    """Of each link, whether both its ends are kept."""
    return np.repeat(is_kept, graph.out_degrees()) & is_kept[graph.targets]


def with_pages(graph: Csr, is_kept: Mask) -> Csr:
    """The pages that `is_kept` tells, renumbered, and the links that neither end of them lost."""
    between = with_links(graph, links_between(graph, is_kept))
    number = np.cumsum(is_kept, dtype=np.int32) - np.int32(1)
    starts = np.append(between.starts[:-1][is_kept], between.edges)
    return Csr(starts=starts, targets=number[between.targets])
