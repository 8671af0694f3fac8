"""Graphs in files, and graphs laid out on disk where memory is too small.

reading  a graph file, plain or packed, as a graph with names
sorting  whole numbers sorted on disk
blocks   the links and scores of a graph on disk, for `ranks.walks.blocks`
"""
