"""Link analysis: ranks of the nodes of a whole graph from its links.

An optional room: it can be deleted with its entry points. All modules but `commands` are pure.

scores             scores of all nodes with a bound of their error: the result of every rank
agreement          agreement of two ranks, or of a rank and people
pagerank           PageRank in memory: power method, Gauss-Seidel, sweeping
pagerank_variants  inverse, by topic, towards recent pages, without dangling pages
trust              TrustRank and distrust
blocks             PageRank of a graph that exceeds the memory, in files
singular_vectors   singular vectors of a link matrix by Lanczos' method
hits               hubs and authorities
communities        groups of hubs and authorities
centrality         degree and harmonic centrality
eigenvector        importance by the link matrices of OPIC's paper
sites              the graph of sites, and the scores of their pages
guards             weights against collusion

seeds/       seeds for a crawl, one from the core of each community
commands/    `minicrawl rank`, `seed-set`
"""
