"""Graphs in files, and graphs laid out on disk where memory is too small.

reading  a graph file, plain or packed, as a graph with names
blocks   the links and scores of a graph on disk, sorted, for `ranks.walks.blocks`
"""
