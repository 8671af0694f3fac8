"""Link graphs: in memory, from text, and synthetic. Pure arithmetic, no I/O.

csr             directed graphs as compressed sparse rows
named_graph     graphs with named nodes; their subgraphs
link_builder    builders that take links in any order, or row by row
products        products of the adjacency matrix with vectors
distances       breadth-first levels; diameter and mean distance, exact or sampled
hyperball       distances by HyperBall
degrees         degree distributions and their power law
outline         summary of a graph: components, distances, degrees
growing         the outline of a graph that grows, updated by each edge or batch
text_formats    detection of the format of a graph file, and its parser
text_lines      blocks of lines, and errors that name a line
edge_lists      edge lists, between ids or between names
numbered_lists  older formats that list the nodes first
"""
