"""Graphs in files.

reading  a graph file, plain or packed, as a graph with names
"""
