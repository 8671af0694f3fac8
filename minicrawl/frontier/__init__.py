"""The frontier: all pages in memory, as a fold over the steps in the store.

page_table       the fold: ledger and state of each page, and its last spending
changes          pages that changed since the last checkpoint
checkpoints      rows that the next checkpoint writes
loading          loads the last checkpoint and the steps after it, and checks their consistency
url_table        URL, host and depth of each page, and the site of each host
url_index        the seen-set (URL -> page id) in a few bytes per page
importance       importance of pages as reports show it, and the gathered share of it
"""
