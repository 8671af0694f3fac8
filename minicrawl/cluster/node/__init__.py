"""A node: one process of a cluster, which holds leases of shards and crawls them.

Law: no shard is crawled by a node that could not renew its lease in time, by the node's own clock.
What a slow node writes all the same is refused by the log of the shard.

records        what nodes say of themselves and of leases, as values and as bytes
leases         who holds what as a node sees it, and what it should do about that; no I/O
keys           the keys of the engine as a node sees them, kept up to date
presence       how a node says that it is there
hearing        what a node hears of the others
shard_process  the crawl of one shard, in a child process
child          that child process
grants         how a budget of pages is shared out among shards
node           the node itself: it announces itself, takes shards, and gives them up
"""
