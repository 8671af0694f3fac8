"""The store of a shard, kept in the engine: each commit counts when it is in the log there.

The log of a shard is the write-ahead log of its SQLite store, byte by byte. A snapshot is its file
as of the beginning of such a log; what the log has before it is removed.

entries     what an entry of the log says
snapshots   the file of a store in the object store, and up to which entry it goes
engine_thread  who waits for the engine while the crawl goes on
shipping    what `StoreWriter` tells of its commits goes to the engine
restoring   a store made of its last snapshot and the log behind it; who takes a shard over

Laws: an entry is appended only behind the last one that its writer knows, so a writer that lost the
shard is refused. A store that was restored is what its writer had after its last commit that the
engine confirmed; a later one that was cut off does not count.
"""
