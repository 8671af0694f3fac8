"""The child process in which a node crawls one shard; the node has it as a `ShardProcess`.

process          it takes the shard over, runs the ordinary crawl, and does as its node says
exchange         what the crawl hears of other shards and tells them, through the engine
address_records  which shard has which part of an address, as the engine keeps it
"""
