"""One crawl in shards on several machines, joined by a replicated log.

A room beside the core: it can be deleted, with its entry points.

A *shard* is what one process crawls: pages, a ledger, a log of steps. A site belongs to one shard,
so queues, robots.txt, traps, quotas and delays stay local. A link to a page of another shard pays a
*foreign* page of this one. The cash of foreign pages goes out in numbered batches, each posted once
and in order, so no atom is lost or doubled by a kill, or by a message that comes late or twice.

pure
channels        a shard as a fold over its log; batches of cash, delivered once and in order
records         records in the engine's keys, and the facts that shards tell each other
cash_threshold  the cash below which pages wait
conclusions     what follows from the facts of all shards, such as the end of the crawl

in the crawl's process
traffic         a shard's crawl among the others: batches, facts, cash, parts of addresses
child           the process in which a node crawls one shard

around it
engine          protocols of the replicated log; `nats` implements them
access          addresses and credentials of the engine, and `engine_thread`
servers         NATS servers for demos and tests
server_versions which servers keep what they have acknowledged
terms           what all nodes of a crawl agree on before it begins, with `shared_settings`
node            a process that holds leases of shards, crawls them and shares out pages
replica         a shard's store and kept pages as snapshot and logs in the engine
gathering       merges the stores of all shards into one, and deals one out to shards
overview        what keys and broadcasts say of the whole cluster
steering        requests of users to it
commands        `minicrawl cluster`, `minicrawl node`, and `crawl`, `dashboard`, `control --cluster`
beside_crawl    `--cluster` for `crawl` and other commands of the core
"""
