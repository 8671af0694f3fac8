"""Link analysis: ranks of the nodes of a whole graph from its links.

A room beside the core: it can be deleted, with its entry points. The mathematics is pure.

scores       scores of all nodes with a bound of their error: the result of every rank
power        the power method, and the bound of its error
pagerank     PageRank in memory: power method, Gauss-Seidel, sweeping
blocks       PageRank of a graph that exceeds the memory; block_files has its files on disk
hits         hubs and authorities; singular computes pairs of them by Lanczos' method
centrality   degree, harmonic centrality, eigenvectors of link matrices
trust        TrustRank, inverse and topic-specific PageRank
sites        the graph of sites, and the scores of their pages
compare      agreement of two ranks, or of a rank and people
seeds        communities of a graph; seed_sets takes a seed from each, and evaluates them

by_name      every rank by name with default options, and how ranks are saved
in_blocks    PageRank of a store or a file within a memory limit
comparing    two ranks of a store side by side; a rank before and after pages are removed
link_words   links that weigh more for the words in and around them
commands/    `minicrawl rank`, `compare`, `seed-set`
"""
