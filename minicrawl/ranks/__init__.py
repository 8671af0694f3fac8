"""Link analysis: what the links of a whole graph say of its nodes. Pure.

scores      what every rank gives: a score for each node, and how far it may be wrong
power       the power method, and the bound of its error
hits        hubs and authorities
centrality  degree, and harmonic centrality; the eigenvector of a link matrix
sites       the graph of sites, and the scores of their pages
compare     how far two ranks agree, or a rank and people
seeds       seeds for a crawl, one from each community
blocks      PageRank of a graph that does not fit in memory
pagerank    PageRank in memory, by the power method or Gauss-Seidel or sweeping; one step of a
            walk, and how far a vector is from its limit
singular    pairs of authorities and hubs as singular vectors, by Lanczos' method
trust       TrustRank: trust flows from seeds along links; inverse and topic-specific PageRank
"""
