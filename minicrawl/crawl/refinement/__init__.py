"""Compute converged ranks beside the store, during a crawl and when it ends.

converged_ranks  the limit of endless replays along the stored links
fresh_ranks      keeps the importance that reports show fresh: while the crawl has time, and at its
                 end
"""
