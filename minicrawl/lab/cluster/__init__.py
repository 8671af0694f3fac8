"""A crawl in shards on many nodes, simulated with the shards of `minicrawl.shards`.

web        a shard of a web: its pages, its queue, and what it reads
simulation nodes that read in ticks, batches that take time, a level of cash for all
comparison the importance that is gathered, beside one machine from the same seeds
traffic    what so many nodes send each other
"""
