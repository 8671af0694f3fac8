"""One crawl in shards on several machines, joined by a replicated log.

A room beside the core: it can be deleted, with its entry points.

A *shard* is what one process crawls: pages, a ledger, a log of steps. A site belongs to one shard,
so queues, robots.txt, traps, quotas and delays stay local. A link to a page of another shard pays a
*foreign* page of this one. The cash of foreign pages goes out in numbered batches, each posted once
and in order, so no atom is lost or doubled by a kill, or by a message that comes late or twice.

pure
channels    transfers of cash: outbox, batches and their bytes, delivery once and in order
shard       a shard as a fold over its log, the facts that shards tell, the audit of all shards
assignment  which node should hold which shards; shares of addresses and pots; cash levels

in the crawl's process
traffic     sends batches after their commits, and posts the batches that arrive
together    acts on the facts of all shards: common order, start and end
child       the process in which a node crawls one shard

around it
engine      the log as protocols; nats/ implements them, servers starts NATS for demos and tests
access      settings in, an open engine out
terms       records in the engine's keys: terms of the crawl, nodes, leases, state
node/       a process that holds leases of shards
replica     a shard's store as snapshot and log in the engine; shipping writes it
pages       a shard's archive of kept pages as a log in the engine
gather/     merges the stores of all shards into one
overview    the status of the whole cluster; views shows it in the dashboard
commands/   `minicrawl cluster`, `minicrawl node`
beside_crawl  `--cluster` for `crawl` and other commands of the core
"""
