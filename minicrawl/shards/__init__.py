"""One crawl in several shards: who owns a page, and how cash goes from shard to shard. Pure.

A *shard* is what one machine runs: pages, a ledger, a log of steps. A site belongs to one shard,
so queues, robots.txt, traps, quotas and delays stay local. A link to a page of another shard pays
a *foreign* page of this one. What foreign pages hold goes out in batches. Each batch has a number,
and is posted once, in order. So neither a kill, nor a message that comes twice or late, loses or
doubles an atom.

owners         which shard a site belongs to
batches        what goes from shard to shard, and its bytes
outbox         what waits to be sent, and when it is sent
channels       the numbers and sums of what was sent and received, and what does not arrive
shard          a shard as a fold over its log: what it sends, and how it posts what comes
audit          the law of all shards: what they hold and what is under way is what was minted
levelling      what virtual pages send each other, so that pages of all shards are paid alike
facts          what shards tell each other, and when a crawl is over
rhythm         how long shards wait before they tell and send: short while a crawl is young
assignment     which node should hold which shards: even, and with few moves
address_parts  which shard has which part of the pace of an address
water          a level of cash for all shards: pages below it wait while others are richer elsewhere
"""
