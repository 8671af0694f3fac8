"""A node: one process of a cluster, which holds leases of shards and crawls them.

Law: a node crawls no shard whose lease it could not renew in time, by the node's own clock. If a
slow node writes all the same, the log of the shard refuses the entry.

leases      which node may crawl which shard, without I/O; beats, page budget, following keys
supervisor  the shards that the node holds, each crawled in a child process
node        state of the crawl, messages of other nodes, and decisions; puts the parts together
"""
