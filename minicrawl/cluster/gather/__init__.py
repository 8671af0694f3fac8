"""The stores of all shards, merged into one ordinary store on which every command works.

Laws: the gathered store is what the cluster would be if all that is on its way had arrived. So a
foreign page is the page of its owner, what waits in outboxes and is under way is on the page that
it goes to, and a page that its owner has not heard of yet is born with its unit. No atom is lost or
made; whatever breaks the law of all shards is said, and nothing is written then. The stores may be
of different moments. Memory is some 60 bytes for each row of a page in a shard.

Its log has the last turn of each page, in the order of time: where links are, and what stands for
what. All shards moved the cash of its pages together, each by its own ledger, so no single log can
make it again. That is proven from the logs of the shards, while they are gathered.

stores     the stores of the shards, opened; they must be all shards of one crawl; requests,
           documents and what else a store says of pages; which page of all each page of a shard
           is
holdings   what a shard holds, by its own pages and by foreign ones; the law of all shards, from
           the senders' logs and the receivers' channels; the last turn of each page, with its
           links; which gathered stores are read just now
books      the books of all: keys, histories and clocks of the shards become those of one ledger
gathering  all of it, in order; the shards of a cluster, which are gathered and kept until the
           crawl goes on
"""
