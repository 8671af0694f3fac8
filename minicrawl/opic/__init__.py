"""Adaptive OPIC: estimates the importance of pages while a crawl reads them. Pure, no I/O.

money          integer cash amounts; the split between a page's links and the virtual page
ledger         cash of every page; plans for a visit, a replay, a redirect, a dead end; transfers
               between the ledgers of two shards; the log of steps, and the books as a fold over it;
               cash that a shard has sent to other shards and received from them
windows        how much of the past a page's history remembers
estimate       importance from history and cash; its limit under endless replays, computed
               off-line; a proven lower bound of the importance on the pages read
expected_value expected values of unread pages, by the values of pages that were read
queues         exact priority queues in bounded memory: all pages, by host, by site
siblings       an alternative order: ranks a page by what pages found together with it revealed
sibling_queue  queue of groups of siblings: the best page among the ready hosts; the same queue,
               weighted by the expected values of pages
families       read budgets of sites that the user did not name; running means of the order
"""
