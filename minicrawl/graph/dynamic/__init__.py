"""Distances and strong components of a graph that grows edge by edge.

Law: after every edge the answer is that of the whole graph so far. Edges only come, and all of them
have length 1.

matrices    all distances as one matrix: A1 and A2, and A3 and A4, which take edges in batches
trees       all distances as trees of shortest paths, after Ausiello and others (1991)
recomputed  all distances or components anew, by Floyd-Warshall, Johnson and Tarjan
closure     who reaches whom, as rows of bits: S1, S2 and S3, and Yellin's merging of rows (1993)
levels      strong components of sparse graphs, after Bender, Fineman, Gilbert and Tarjan (2016)
growing     the outline of a graph that grows: components, distances, reciprocity
algorithms  all of them by name
suite       the graphs on which they are compared
saved       graphs with their answers as files (`.g`), and as DIMACS text
"""
