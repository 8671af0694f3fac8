"""PageRank of a graph that exceeds the memory, in files.

columns   columns of numbers on disk, and sorting what exceeds the memory
files     links by block, and the memory that each part may take
pagerank  the iterations
"""
