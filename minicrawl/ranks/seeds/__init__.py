"""Seeds for a crawl, one from each community of a graph (Daneshpajouh, Nasiri, Ghodsi, 2008).

cores       a community's core: hubs and the authorities they link to, grown by scores
extraction  prune links inside hosts, rank, grow a core, take its seed, remove it, and again
"""
