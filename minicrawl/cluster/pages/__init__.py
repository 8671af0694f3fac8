"""What shards keep of their pages, in the engine: it is there before the commit that counts it.

Each shard that keeps pages has a log for them beside that of its store. It has the bytes that are
appended to the shard's archive, and nothing of it is removed while the crawl is there.

pieces     what an entry of such a log says
shipping   what a shard appends to its archive goes to the engine
restoring  the archive of a shard, made of its log; who takes a shard over
gathering  the archives of all shards become one, beside the gathered store
"""
