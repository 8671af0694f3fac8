"""Link graphs: how they are kept in memory, read from text and made up. Pure arithmetic, no I/O.

csr        a directed graph as compressed sparse rows
adjacency  the adjacency matrix of a graph times a vector, block by block
links      from links in any order, or row by row, to a graph
named      a graph and what its nodes are called
parts      some of the links, or some of the nodes
distances  how many links lie between nodes, and how far apart they are
hyperball  the same, estimated for all nodes at once
degrees    how many links nodes have, and the power law that fits
outline    a graph in a few numbers; which nodes are connected
synthetic  graphs whose laws are known: power law, Poisson, a growing web with hosts
dynamic    distances and strong components while edges come
text       link graphs as text, a module for each format
"""
