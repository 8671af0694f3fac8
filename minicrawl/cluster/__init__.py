"""A crawl of several machines, joined by a replicated log. Nothing here is imported without it.

engine    what the crawl asks of the log, as a protocol, and what can go wrong
nats      the engine over NATS JetStream
servers   NATS servers of our own on loopback addresses
replica   the store of a shard, kept in the log: each commit counts when it is there
"""
