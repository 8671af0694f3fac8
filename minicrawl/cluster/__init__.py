"""A crawl of several machines, joined by a replicated log. Nothing here is imported without it.

engine    what the crawl asks of the log, as a protocol, and what can go wrong
nats      the engine over NATS JetStream
servers   NATS servers of our own on loopback addresses; a cluster on this machine
access    the door to the engine: settings in, an open engine out
terms     what all nodes agree on before they begin; what nodes say of themselves and of leases,
          as values and as bytes
node      a process that holds leases of shards
child     the process in which a node crawls one shard
replica   the store of a shard, kept in the log: each commit counts when it is there
pages     what shards keep of their pages, in the engine as well
gather    all shards become one store
overview  the whole cluster at one look; the cluster as it goes on, for who waits until its crawl
          is over; what users ask of a running cluster
views     what the dashboard of a cluster shows; the same for who looks now and then
shipping  what `StoreWriter` tells of its commits goes to the engine
"""
