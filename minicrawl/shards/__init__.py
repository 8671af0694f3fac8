"""One crawl in several shards: who owns a page, and how cash goes from shard to shard. Pure.

A *shard* is what one machine runs: pages, a ledger, a log of steps. A site belongs to one shard,
so queues, robots.txt, traps, quotas and delays stay local. A link to a page of another shard pays
a *foreign* page of this one. What foreign pages hold goes out in batches. Each batch has a number,
and is posted once, in order. So neither a kill, nor a message that comes twice or late, loses or
doubles an atom.

channels    the numbers and sums of what was sent and received, and what does not arrive; what
            waits to be sent, and when it is sent; what goes from shard to shard, and its bytes;
            how long shards wait before they tell and send: short while a crawl is young; which
            shard a site belongs to
shard       a shard as a fold over its log: what it sends, and how it posts what comes; what
            shards tell each other, and when a crawl is over; the law of all shards: what they
            hold and what is under way is what was minted
assignment  which node should hold which shards: even, and with few moves; which shard has which
            part of the pace of an address; what virtual pages send each other, so that pages of
            all shards are paid alike; a level of cash for all shards: pages below it wait while
            others are richer elsewhere
"""
