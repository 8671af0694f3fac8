"""Graphs in files.

reading  read a graph file, plain or gzipped, into a named graph
"""
