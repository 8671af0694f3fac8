"""A crawl in shards on several machines, joined by a replicated log.

A room beside the core: it can be deleted, with its entry points.

A *shard* is what one process crawls: pages, a ledger, a log of steps. A site belongs to one shard,
so queues, robots.txt, traps, quotas and delays stay local. A link to a page of another shard pays a
*foreign* page of this one. What foreign pages hold goes out in numbered batches, each posted once
and in order, so neither a kill, nor a message that comes twice or late, loses or doubles an atom.

pure
channels    batches of cash: when they are sent, their bytes, which are posted
shard       a shard as a fold over its log, what shards tell each other, and the law of all shards
assignment  which node holds which shards; which shard has which part of an address's pace

in the crawl's process
traffic     sends what is due after commits, and posts what comes
together    what follows from the facts of all shards: order, budget, end
child       the process in which a node crawls one shard

around it
engine      the log as a protocol; nats/ is the engine that is used, servers starts one for tests
access      settings in, an open engine out
terms       what all nodes agree on, and what they say of themselves
node/       a process that holds leases of shards
replica     the store of a shard in the log: each commit counts when it is there (shipping)
pages       what shards keep of their pages, in the log as well
gather/     all shards become one store
overview    the whole cluster at one look; views shows it in the dashboard
commands/   `minicrawl cluster`, `minicrawl node`
beside_crawl  `--cluster` for `crawl` and other commands of the core
"""
