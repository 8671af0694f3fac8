"""A node: one process of a cluster, which holds leases of shards and crawls them.

Law: no shard is crawled by a node that could not renew its lease in time, by the node's own clock.
If a slow node writes all the same, the log of the shard refuses the entry.

running  puts the parts of a node together, and runs it
node     the node itself: its signs of life, what it hears of the others, the state of the crawl,
         and its decisions
held     leases as one node sees them, the decision which shards to take and to give up, without
         I/O, and the shards that the node holds; following keys of the engine
shards   the crawl of one shard in a child process; division of the page budget among shards
"""
