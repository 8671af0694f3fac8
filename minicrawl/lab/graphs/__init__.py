"""Algorithms for graphs that grow edge by edge, compared.

bench   each algorithm on each graph, timed and validated in a process of its own
charts  the findings as pictures
"""
