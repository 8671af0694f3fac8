"""A node: one process of a cluster, which holds leases of shards and crawls them.

Law: no shard is crawled by a node that could not renew its lease in time, by the node's own clock.
If a slow node writes all the same, the log of the shard refuses the entry.

leases      which node may crawl which shard, without I/O; beats, page budget, following keys
supervisor  the shards that the node holds, each crawled in a child process
node        state of the crawl, what the node hears of the others, its decisions; puts it together
"""
