"""Importance of pages from the books, and keys for their order. Pure.

estimate        importance from history and cash
cash_flow       the limit of endless replays, computed off-line
rank_mass       a proven lower bound of the importance on the pages read
early_rank      the rank of waiting pages at the start of a crawl
expected_value  expected values of unread pages, by the values of pages that were read
"""
