"""Algorithms for distances and strong components under edge insertions, to compare them.

After every edge the answer is that of the whole graph so far. Edges are only added, and all have
length 1. A2 and `levels` are those of the product (`graph`).

one_matrix           all distances in one matrix, repaired after each edge or batch of edges
shortest_path_trees  all distances as trees of shortest paths
reachability         strong components from reachability as rows of bits
recomputed           distances or components from scratch, the reference for the others
by_name              all algorithms by name and number
suite                graphs on which they are compared, each with a fixed order of edges
"""
