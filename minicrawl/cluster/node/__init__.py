"""A node: one process of a cluster, which holds leases of shards and crawls them.

Law: no shard is crawled by a node that could not renew its lease in time, by the node's own clock.
What a slow node writes all the same is refused by the log of the shard.

running  the parts of a node are put together
node     the node itself: it announces itself, takes shards, and gives them up; what it hears of
         the others; what it knows of the crawl of the whole cluster; how it says that it is there
held     the shards that it holds, and their crawls; who holds what as a node sees it, and what it
         should do about that; no I/O; the keys of the engine as a node sees them, kept up to date
shards   the crawl of one shard, in a child process; the pages that each shard was granted: a log
         of which the last entry counts; how a budget of pages is shared out among shards; no I/O
"""
