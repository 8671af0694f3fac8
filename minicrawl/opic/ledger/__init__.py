"""The books of a crawl: every atom of cash is on a page or on the virtual page. Pure.

money     integer cash: every split is exact
ledger    cash of every page and of the virtual page
plans     what a visit, a replay, a redirect, a dead end or a transfer between shards moves
books     the log of steps, and the books as a fold over it
channels  cash that a shard has sent to other shards and received from them
"""
