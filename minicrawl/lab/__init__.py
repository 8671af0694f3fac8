"""Experiments of the papers, run on the crawler's own ledger, windows and orders.

A room beside the core: it can be deleted, with its entry points.

webs         webs to run on, synthetic or from a file; orders that read a known web again and again;
             exploration of a web by a crawler; errors of estimates
discovery    orders in which an unknown web is read
order        importance gathered against pages fetched, for every order of reading; polite crawls
             with several requests at a time; spam farms
convergence  how fast the estimates approach the true importance (figures 2 and 3)
windows      how windows follow a web that changes (figures 4, 5 and 6)
cluster      a crawl in shards on many nodes, compared with one machine
figures      all experiments as pictures and as CSV
graphs       benchmark of algorithms for graphs that grow edge by edge
judgements   people's verdicts on search results, and how well a ranking agrees with them

commands/    `minicrawl lab`

An experiment of a web is a function from a web and settings to series of numbers.
"""
