"""Compute converged ranks beside the store, during a crawl and when it ends.

converged_ranks  the limit of endless replays along the stored links
fresh_ranks      keeps the importance that reports show fresh while the crawl has time
spare_time       the time that the loop and the cores had to spare
last_convergence computes the ranks when the crawl is over
"""
