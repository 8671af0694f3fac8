"""Link graphs: in memory, from text, and synthetic. Pure arithmetic, no I/O.

csr        directed graphs as compressed sparse rows; graphs with named nodes; builders that take
           links in any order, or row by row; subgraphs
adjacency  products of the adjacency matrix with a vector, block by block
distances  breadth-first levels; diameter and mean distance, exact, sampled, or by HyperBall
outline    summary of a graph: components, distances, degree distributions and their power law
synthetic  graphs with known laws: power law, Poisson, a growing web with hosts
dynamic    distances and strong components while edges are inserted
text       parsers for link graphs as text: edge lists, numbered lists, DIMACS
formats    detection of a text's format, and the graph in it
growing    outline of a growing graph: components, distances, reciprocity
matrices   all distances in one matrix: A1 and A2, and A3 and A4 for batches; distances or
           components recomputed by Floyd-Warshall, Johnson and Tarjan
"""
