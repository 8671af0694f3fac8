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

columns   columns of numbers on disk, and sorting what exceeds the memory
files     links by block, and the memory that each part may take
pagerank  the iterations
"""
