"""The books of a crawl: every atom of cash is on a page or on the virtual page. Pure.

money       integer cash: every split is exact
ledger      cash of every page and of the virtual page
plans       what a visit, a replay, a redirect or a dead end moves
books       the log of steps, and the books as a fold over it
shard_cash  cash that leaves the ledger of one shard for that of another
channels    cash that a shard has sent to other shards and received from them
"""
