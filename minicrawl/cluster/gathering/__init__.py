"""Merges the stores of all shards into one ordinary store, on which every command works.

The gathered store is the state that the cluster would have if everything under way had arrived. The
steps of the shards cannot be replayed in one ledger: a visit spends all that its page holds, and
each shard paid its pages out of a pot of its own, so one ledger would move other amounts. But a
ledger can receive cash of other shards. So one ledger begins with the own pages and the pots of all
shards, as if each shard had just sent everything in its outbox; then it receives the outboxes, and
the batches that were sent and not posted. It counts the cash that is still *abroad*: 0 in the end.

Example, in units. Shard 0 has read /a, which links to /b of shard 1. Shard 1 knows /b already.

                         shard 0              shard 1       one ledger, first   after it received
      minted             2                    1             3                   3
      /a                 0.6                                0.6                 0.6
      /b                                      0.9           0.9                 1.9
      pot                0.4                  0.1           0.5                 0.5
      outbox             0.2 for /b
      batch 1, unposted  0.8 for /b
      abroad             0.8                  0             0.8 + 0.2 = 1       0

A page that its owner has not heard of is minted with its unit, as its owner would have done.

Laws: if the audit of all shards finds a fault, the fault is reported and nothing is written. The
stores may be of different moments. The new store gets its name when it is complete, and no file is
overwritten. Memory is about 60 bytes for each row of a page in a shard. The log of the gathered
store has the last turn of each page, ordered by time: its links, or the page that it stands for. It
is not replayed; the cash is proven from the logs of the shards.

shard_stores  the stores of all shards, open for reading, and their audit
common_pages  maps the pages of a shard to *common* ones, those of the gathered store
ledger        one ledger with the pages of all shards, and their histories by one clock
steps         the gathered log, with the last turn of each page
rows          URLs, requests, documents, original URLs, mirrors
gather        the whole merge
kept_store    gathers a running cluster with its kept pages, and keeps the result until the crawl
              goes on
marks         keeps a gathered store from removal while it is read
dealing       the inverse: deals a gathered store out to shards
resharding    gathers a stopped cluster and deals it out to another number of shards
"""
