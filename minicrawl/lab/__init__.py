"""The laboratory: the paper's experiments, run on the crawler's own ledger, windows and orders.

A room beside the core: it can be deleted, with its entry points.

webs         the graph an experiment runs on: synthetic, or from a file; what an order of reading
             is; those in which a known web is read again and again; what a crawler has discovered
             of a web; the crawl's order by siblings, for the laboratory; how far an estimate is
             from the truth
discovery    orders in which an unknown web is read
order        the importance gathered against the pages fetched, for every order of reading, with
             one request at a time or several; farms of spam beside the honest pages of a web
convergence  how fast the estimates approach the true importance (figures 2 and 3)
windows      how the windows follow a web that changes (figures 4, 5 and 6)
cluster      a crawl in shards on many nodes, beside one machine
figures      all of it drawn, and as numbers
graphs       algorithms for graphs that grow edge by edge
judgements   what people said of what a search found; how good an order is by all of it

commands/    `minicrawl lab`

An experiment of a web is a function from a web and settings to series of numbers.
"""
