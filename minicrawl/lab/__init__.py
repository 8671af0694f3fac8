"""The laboratory: the paper's experiments, run on the crawler's own ledger, windows and orders.

webs         the graph an experiment runs on: synthetic, or from a file
convergence  how fast the estimates approach the true importance (figures 2 and 3)
windows      how the windows follow a web that changes (figures 4, 5 and 6)
order        the importance gathered against the pages fetched, for every order of reading
measure      how far an estimate is from the truth
figures      all of it drawn and as numbers
progress     how far an experiment has come

An experiment is a function from a web and settings to series of numbers; it tells how far it has
come by calling `progress` with a share between 0 and 1.
"""
