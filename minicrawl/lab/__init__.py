"""Experiments from the papers, run on the crawler's own ledger, windows and orders.

A room beside the core: it can be deleted, with its entry points.

webs            webs to run on, synthetic or from a file
page_values     values that the user gives to the pages of a web
exploration     a crawl of a web that the laboratory knows
reading_orders  orders of reading, those of a crawl and baselines, a bandit among them
importance_curves  importance gathered against pages fetched, for every order of reading
known_webs      a known web, read again and again: its importance, and errors of estimates of it
convergence     how fast estimates approach it
changing_webs   windows while the web changes
freshness       the share of a web that is up to date, for every order of re-reading
dynamic_graphs/ algorithms for distances and strong components while edges are inserted; they are
                timed by `algorithm_bench`

commands/       `minicrawl lab`; also a benchmark of algorithms for graphs that grow edge by edge

An experiment on a web is a function from a web and settings to series of numbers.
"""
