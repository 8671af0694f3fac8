"""Link graphs: how they are kept in memory, read from text and made up. Pure arithmetic, no I/O.

components which pages hang together
csr        a directed graph as two flat arrays
diameter   how far apart pages are
distances  how many links lie between pages
edgelist   from the lines of an edge list to a graph
parts      some of its links, or some of its pages
synthetic  graphs whose laws are known: power law, Poisson, a growing web with hosts
"""
