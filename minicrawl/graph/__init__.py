"""Link graphs: how they are kept in memory, read from text and made up. Pure arithmetic, no I/O.

csr        a directed graph as two flat arrays
rows       from all links of a page at once to a graph
links      from links in any order, with or without weights, to a graph
named      a graph and what its nodes are called
ids        nodes that are called by numbers
graphtext  which format a text has, and the graph in it; the formats are
edgelist     links of ids
namelist     links of names
numbered     names first, links of their numbers then
lines      what all of these have in common
components which pages hang together
distances  how many links lie between pages
parts      some of its links, or some of its pages
diameter   how far apart pages are
synthetic  graphs whose laws are known: power law, Poisson, a growing web with hosts
"""
