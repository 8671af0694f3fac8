"""Link analysis: ranks of the nodes of a whole graph from its links.

An optional room: it can be deleted with its entry points. All modules but `commands` are pure.

scores       scores of all nodes with a bound of their error: the result of every rank; agreement of
             two ranks, or of a rank and people
pagerank     PageRank in memory: power method, Gauss-Seidel, sweeping; inverse, by topic, and more;
             TrustRank and distrust
blocks       PageRank of a graph that exceeds the memory, in files
hits         hubs and authorities by Lanczos' method, and communities of them
centrality   degree, harmonic centrality, eigenvectors of link matrices
sites        the graph of sites, the scores of their pages, and guards against collusion
seeds        seeds for a crawl, one from each community of a graph, and how good they are

commands/    `minicrawl rank`, `seed-set`, `lab compare`
"""
