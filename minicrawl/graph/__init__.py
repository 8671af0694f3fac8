"""Link graphs: in memory, from text, and synthetic. Pure arithmetic, no I/O.

csr           directed graphs as compressed sparse rows; graphs with named nodes; builders that take
              links in any order, or row by row; subgraphs; products with vectors
distances     breadth-first levels; diameter and mean distance, exact, sampled, or by HyperBall
outline       summary of a graph: components, distances, degree distributions and their power law;
              the outline of a graph that grows, updated by each edge or batch
text_formats  parsers for link graphs as text, and detection of the format
"""
