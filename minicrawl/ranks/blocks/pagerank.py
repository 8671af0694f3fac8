"""PageRank of a graph that exceeds the memory, in files (Haveliwala, 1999).

This is the power method (`scores`) with uniformly spread dangling mass. Each iteration computes

    y(t) = (1 - d + d * dangling) / n + sum of g(s) over the links s -> t,  g(s) = d * x(s) / out(s)

d         damping, which is the contraction
dangling  the sum of x over nodes without links
block     consecutive nodes whose y is computed together; memory holds y of one block only
stretch   consecutive nodes whose g is read together
cell      a block and a stretch, as one number: the links between them are read together

A sum over the links in any order would jump through g and y, which are larger than the memory. So
the links are sorted once by block of their target, then by source. Then each iteration reads them
from front to back, block after block; it reads g one stretch at a time, and writes y once.

Example: links 0->2, 1->2, 2->3, 3->0, 3->1, blocks and stretches of 2 nodes, d = .8. The file has

    block 0, stretch 1:  3->0  3->1        as offsets in stretch and block:  1->0  1->1
    block 1, stretch 0:  0->2  1->2                                          0->0  1->0
    block 1, stretch 1:  2->3                                                0->1

All x are .25 at first, so g = .2 .2 .2 .1, and the base (1 - d) / n is .05.

    block 0  y = .05 .05; stretch 1 has g = .2 .1; both links add .1:            y = .15 .15
    block 1  y = .05 .05; stretch 0 has g = .2 .2, and node 2 gets both;
             stretch 1 has g = .2 .1, and node 3 gets .2:                        y = .45 .25

y sums to 1, and |y - x| is .4, so the bound of the error is .4 * .8 / .2 = 1.6. 85 iterations
later it is below 1e-8, and the scores are .1762 .1762 .3320 .3156.

An iteration reads 8 bytes per link, and per node 8 bytes of g for each block and 16 of out and x;
it writes 16 bytes per node. Memory holds a few numbers for each cell, and none for a node or a link
outside the current block. The arrays in use take at most `free` bytes: each share of `MemoryPlan`
is an upper bound for its items, copies included. Files are open only while they are read or
written.
"""

from collections.abc import Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.products import Vector
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.blocks.files import BlockFiles
from minicrawl.ranks.scores import PowerMethod, Scores, rounding_floor


def pagerank(
    files: BlockFiles,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-8,
    most_iterations: int = 1000,
    tell: Progress = unreported,
) -> Scores:
    """Return the scores of all nodes, mapped into memory from their file."""
    nodes, memory, dangling = files.nodes, files.memory, 0.0
    for first in range(0, nodes, memory.at_once):
        equal = np.full(min(memory.at_once, nodes - first), 1 / nodes)
        files.scores.write(first, equal)
        dangling += _pass_on(files, first, equal, damping)
    files.turn()

    def step() -> float:
        nonlocal dangling
        base = (1 - damping + damping * dangling) / nodes
        change = dangling = 0.0
        for block in range(files.blocks):
            inflow = np.full(min(memory.block, nodes - block * memory.block), base)
            held, given = -1, np.empty(0)
            for stretch, sources, targets in files.links.pieces(block):
                if stretch != held:
                    given = files.given.read(stretch * memory.stretch, memory.stretch)
                    held = stretch
                np.add.at(inflow, targets, given[sources])
            for place in range(0, len(inflow), memory.at_once):
                first, new = block * memory.block + place, inflow[place : place + memory.at_once]
                change += float(np.abs(new - files.scores.read(first, len(new))).sum())
                files.scores.write(first, new)
                dangling += _pass_on(files, first, new, damping)
        files.turn()
        return change

    method = PowerMethod(
        contraction=damping,
        tolerance=tolerance,
        most_iterations=most_iterations,
        floor=rounding_floor(damping, np.dtype(np.float64)),
    )
    iterations, (bound,) = method.run(step, tell)
    return Scores.within(files.scores.whole(), iterations, bound, tolerance)


def _pass_on(files: BlockFiles, first: int, scores: Vector, damping: float) -> float:
    """Write what nodes pass on along each link; return the sum of the dangling scores."""
    degrees = files.degrees.read(first, len(scores))
    files.given_next.write(first, damping * scores / np.maximum(degrees, 1))
    return float(scores[degrees == 0].sum())


Best = tuple[NDArray[np.int64], Vector]
"""Best nodes and their scores, in descending order; ties go to the first node."""


def best(files: BlockFiles, count: int) -> Iterator[Best]:
    """Yield the `count` best nodes in batches. Each batch reads all scores, but keeps few."""
    left, last_node, last_score = min(count, files.nodes), -1, inf
    while left:
        nodes, scores = np.empty(0, dtype=np.int64), np.empty(0)
        for first in range(0, files.nodes, files.memory.at_once):
            part = files.scores.read(first, files.memory.at_once)
            is_later_tie = (part == last_score) & (np.arange(len(part)) > last_node - first)
            is_next = (part < last_score) | is_later_tie
            nodes = np.concatenate((nodes, first + np.flatnonzero(is_next)))
            scores = np.concatenate((scores, part[is_next]))
            # A stable sort keeps ties in the order of the nodes, also across parts.
            order = np.argsort(-scores, kind="stable")[: min(left, files.memory.at_once)]
            nodes, scores = nodes[order], scores[order]
        left, last_node, last_score = left - len(nodes), nodes[-1], scores[-1]
        yield nodes, scores
