"""Adaptive OPIC: which pages matter, known while they are read. Pure arithmetic, no I/O.

money     whole numbers, and how a page's cash is split
steps     what happens to a page, as a plan: visit, replay, forward, dead end
ledger    who holds what; posts plans
windows   how much of the past a page's history remembers
estimate  from history and cash to importance
schedule  the richest page first, exactly, in bounded memory
strategies  the orders of reading: greedy, and what it is measured against
offline   the same importance by power iteration, from the whole link matrix
"""
