"""Adaptive OPIC: which pages matter, known while they are read. Pure arithmetic, no I/O.

money     whole numbers, and how a page's cash is split
ledger    who holds how much cash; carries out plans; what happens to a page, as a plan: visit,
          replay, forward, dead end; what goes from the ledger of one shard to that of another
journal   every step that moves cash, and the fold that makes the ledger of them
windows   how much of the past a page's history remembers
estimate  from history and cash to importance
schedule  the richest page first, exactly, in bounded memory
order     the same among the hosts that may be asked now; the queue of each host; the same, but
          hosts of important sites come first; a number for each page, drawn by chance
siblings  another order than by cash: by what pages that became known together have shown
refine    what the histories come to if replays go on without end
"""
