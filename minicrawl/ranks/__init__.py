"""Link analysis: what the links of a whole graph say of its nodes. Pure.

scores      what every rank gives: a score for each node, and how far it may be wrong
power       the power method, and the bound of its error
walks       PageRank and its relatives
hits        hubs and authorities
centrality  degree, and harmonic centrality
eigenvector the eigenvector of a link matrix
sites       the graph of sites, and the scores of their pages
compare     how far two ranks agree, or a rank and people
seeds       seeds for a crawl, one from each community
"""
