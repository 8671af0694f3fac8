"""Seeds for a crawl from the communities of a graph.

cores       the core of each community
seed_set    a seed from each core
successors  the seeds of an old graph in a newer one
comparison  how good seeds are: crawls from them and from random pages
"""
