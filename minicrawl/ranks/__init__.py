"""Link analysis: what the links of a whole graph say of its nodes.

A room beside the core: it can be deleted, with its entry points. The mathematics is pure.

scores       a score for each node, and how far it may be wrong: what every rank returns
power        the power method, and the bound of its error
pagerank     PageRank in memory, by the power method, Gauss-Seidel or sweeping
blocks       PageRank of a graph that does not fit in memory; block_files has its files on disk
hits         hubs and authorities; singular has pairs of them by Lanczos' method
centrality   degree, harmonic centrality, the eigenvector of a link matrix
trust        TrustRank, inverse and topic-specific PageRank
sites        the graph of sites, and the scores of their pages
compare      how far two ranks agree, or a rank and people
seeds        communities of a graph; seed_sets takes a seed from each, and tries them

by_name      every rank by its name, with its usual options, and how it is saved
in_blocks    PageRank of a store or a file within a limit of memory
comparing    two ranks of a store side by side; a rank before and after pages are removed
link_words   links that weigh more for the words in and around them
commands/    `minicrawl rank`, `compare`, `seed-set`
"""
