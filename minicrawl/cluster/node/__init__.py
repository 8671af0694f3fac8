"""A node: one process of a cluster, which holds leases of shards and crawls them.

Law: a node crawls no shard whose lease it could not renew in time, by the node's own clock. If a
slow node writes all the same, the log of the shard refuses the entry.

leases         which node may crawl which shard, without I/O
assignment     which node should hold which shard
presence       signs of life of this node
following      keys and broadcasts, as they change
crawl_state    the node's knowledge of the whole crawl
page_budget    how many pages each shard is granted
shared_budget  the log of these grants
shard_process  one shard that is crawled in a child process
supervisor     the shards that the node holds
node           decisions: what to take, what to give up
running        puts the parts together, and runs the node until it is stopped
"""
