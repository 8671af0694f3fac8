"""Walks over links, with jumps: PageRank and its relatives.

walk      one step of a walk, and how far a vector is from its limit
pagerank  PageRank in memory, by the power method or Gauss-Seidel or sweeping
variants  inverse and topic-specific PageRank
trust     TrustRank: trust flows from seeds along links
blocks    PageRank of a graph that does not fit in memory
"""
