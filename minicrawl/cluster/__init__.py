"""One crawl in shards on several machines, joined by a replicated log.

A room beside the core: it can be deleted, with its entry points.

A *shard* is what one process crawls: pages, a ledger, a log of steps. A site belongs to one shard,
so queues, robots.txt, traps, quotas and delays stay local. A link to a page of another shard pays a
*foreign* page of this one. The cash of foreign pages goes out in numbered batches, each posted once
and in order, so no atom is lost or doubled by a kill, or by a message that comes late or twice.

pure
channels    a shard as a fold over its log; batches of cash, delivered once and in order; the audit
records     records in the engine's keys, and the facts that shards tell each other
assignment  node of each shard; how shards divide rates, budget, pots and order

in the crawl's process
exchange    batches and facts to and from the other shards, and their parts of addresses
traffic     sends batches after their commits, and posts the batches that arrive
together    acts on the facts of all shards: common order, start and end
child       the process in which a node crawls one shard

around it
engine      protocols of the replicated log, and access to it; `nats` implements them
servers     NATS servers for demos and tests
terms       what all nodes of a crawl agree on before it begins
node        a process that holds leases of shards and crawls them
replica     a shard's store as snapshot and log in the engine
kept_pages  a shard's archive of kept pages as a log in the engine
gathering   merges the stores of all shards into one; `shard_stores` reads them
overview    what keys and broadcasts say of the whole cluster, and requests of users to it
commands    `minicrawl cluster`, `minicrawl node`, and `crawl`, `dashboard` and `control --cluster`
beside_crawl  `--cluster` for `crawl` and other commands of the core
"""
