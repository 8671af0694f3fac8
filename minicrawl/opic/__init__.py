"""Adaptive OPIC: estimates the importance of pages while a crawl reads them. Pure, no I/O.

money     integer cash amounts; the split between a page's links and the virtual page
ledger    cash of every page; plans for a visit, a replay, a redirect, a dead end; transfers between
          the ledgers of two shards
journal   the log of steps that move cash, and the fold that rebuilds the ledger from it
windows   how much of the past a page's history remembers
estimate  formulas from history and cash to importance
schedule  exact priority queue over all pages in bounded memory
order     per-host queues; the best page among the ready hosts, by cash or by importance of the
          site; pseudo-random keys for pages
siblings  an alternative order: ranks a page by what pages discovered together with it revealed
refine    the limit of the histories under endless replays, computed off-line
"""
