"""Link graphs: in memory, from text, and synthetic. Pure arithmetic, no I/O.

csr                 directed graphs as compressed sparse rows
named_graph         graphs with named nodes
subgraphs           some of the links or nodes of a graph
link_builder        builders that take links in any order, or row by row
products            products of the adjacency matrix with vectors
distances           breadth-first levels; diameter and mean distance, exact or sampled
hyperball           distances by HyperBall
degrees             degree distributions and their power law
outline             summary of a graph: components, distances, degrees
cohesion            triangles, the innermost core, and how few nodes have the rank of a graph
all_distances       distances of a growing graph, updated by each edge
growing_components  strong components of a growing graph, updated by each edge
neighbours          triangles and cores of a graph whose links come and go
dynamic             outline of a graph whose links and nodes come and go
lists               lists of links as text, and their formats
"""
