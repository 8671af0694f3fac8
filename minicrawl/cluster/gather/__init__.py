"""Merges the stores of all shards into one ordinary store, on which every command works.

Laws: the gathered store is the state of the cluster if everything under way had arrived. A foreign
page becomes the page of its owner; cash in outboxes and under way is on the page that it was for;
and a page that its owner has not heard of is born with its unit. No atom is lost or made: any
violation of the law of all shards is reported, and nothing is written. The stores may be of
different moments. Memory is about 60 bytes for each row of a page in a shard.

The log of the gathered store has the last turn of each page, ordered by time: the links of pages,
and what stands for what. It cannot be replayed, since each shard moved cash by a ledger of its own.
The cash is proven from the logs of the shards instead, while they are gathered.

stores     opens the stores of all shards of a crawl, numbers their pages and hosts, and copies
           requests, documents and other rows
holdings   what a shard holds on own and foreign pages; the audit of all shards; the last turn of
           each page; which gathered stores are in use
books      one ledger from the keys, histories and clocks of all shards; the gathered log
gathering  the whole merge; restoring the shards of a running cluster, and keeping the result until
           the crawl goes on
"""
