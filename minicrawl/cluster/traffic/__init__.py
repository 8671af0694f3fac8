"""The link of one shard to the others, in the process that crawls it.

shard_crawl    begins and ends a shard's crawl with the others, and acts on their facts
start_barrier  when all shards begin, and the age of the crawl
admission      pages that wait while richer ones wait in other shards
exchange       batches and facts to and from the other shards, through the engine
traffic        sends batches after their commits, and posts the batches that arrive
pots           cash between the virtual pages of shards
address_parts  how shards divide the rate of an address
addresses      the parts of addresses that this shard may use
local_shard    the shard inside its recorder: marks foreign pages, and fills the outbox
"""
