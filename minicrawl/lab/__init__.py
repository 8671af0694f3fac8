"""Experiments from the papers, run on the crawler's own ledger, windows and orders.

A room beside the core: it can be deleted, with its entry points.

webs            webs to run on, synthetic or from a file; spam farms; errors of estimates; values
                that the user gives to pages
reading_orders  importance gathered against pages fetched, for every order of reading; share of a
                changing web that is up to date, for every order of re-reading
known_webs      estimates on a known web: their convergence, and windows on a changing web
dynamic_graphs  algorithms for distances and strong components while edges are inserted

commands/       `minicrawl lab`; also a crawl in shards compared with one machine, figures, grades
                of pages, verdicts on search results, and a benchmark of algorithms for graphs that
                grow edge by edge

An experiment on a web is a function from a web and settings to series of numbers.
"""
