"""Link graphs: how they are kept in memory, read from text and made up. Pure arithmetic, no I/O.

csr        a directed graph as compressed sparse rows; a graph and what its nodes are called; from
           links in any order, or row by row, to a graph; some of the links, or some of the nodes
adjacency  the adjacency matrix of a graph times a vector, block by block
distances  how many links lie between nodes, and how far apart they are; the same, estimated for
           all nodes at once
outline    a graph in a few numbers; which nodes are connected; how many links nodes have, and the
           power law that fits
synthetic  graphs whose laws are known: power law, Poisson, a growing web with hosts
dynamic    distances and strong components while edges come
text       link graphs as text, a module for each format
formats    which format a text has, and the graph in it
growing    the outline of a graph that grows: components, distances, reciprocity
matrices   all distances as one matrix: A1 and A2, and A3 and A4, which take edges in batches; all
           distances or components anew, by Floyd-Warshall, Johnson and Tarjan
"""
