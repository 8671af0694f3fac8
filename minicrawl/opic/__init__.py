"""Adaptive OPIC: estimates the importance of pages while a crawl reads them. Pure, no I/O.

ledger      cash of every page, and the log of steps that moved it
windows     how much of the past a page's history remembers
importance  what history and cash say of a page
queues      exact priority queues in bounded memory
siblings    an order that ranks a page by what pages found together with it revealed
families    read budgets of sites that the user did not name
"""
