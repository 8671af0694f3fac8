"""A shard and its channels to other shards: cash that is delivered exactly once. No I/O.

A link from a page of shard 0 to a page of shard 1 cannot pay that page at once: the page is in the
ledger of another process. So shard 0 has a row for the URL as well, a *foreign* page, and the link
pays that. The outbox collects the foreign pages that hold cash. From time to time the cash of those
that belong to one shard leaves the ledger in one SEND step, and travels as one batch.

The batches from one shard to another form a *channel* and are numbered from 1. The receiver posts
them strictly in that order, and posts batch and number in one step of its log:

    shard 0 sends                            shard 1 has posted batches 1 to 4 of shard 0

    batch 5: page /x, 7 atoms         ---->  5 = 4 + 1, NEXT: /x gets 7 atoms
    batch 5 again                     ---->  5 < 6, OLD: dropped
    batch 6                           -- x   lost on the way
    batch 7                           ---->  7 > 6, EARLY: dropped
    sees for 5 s that shard 1 has
    posted only batch 5, and makes
    6 and 7 again from its log        ---->  NEXT, NEXT

So messages may be lost, repeated, late and out of order, and no atom is lost or doubled.

Nothing here has a table of its own. The log has the SEND and RECEIVE steps, a batch is made again
from its step, a checkpoint has the ends of the channels (`opic.ledger`), and the outbox
follows from the ledger: a foreign page waits in it if it holds cash or has never been sent.

batches   what a batch may have
outbox    which pages the next batch takes, when it is due, and which batches are sent again
shard     ledger, channels and outbox of one shard, as a fold over its log
"""
