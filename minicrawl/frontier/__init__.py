"""The frontier: all pages in memory, as a fold over the steps in the store.

page_table   the fold: ledger, state and last spending of each page; changes since the last
             checkpoint, and the rows that the next one writes; loading the last checkpoint and the
             steps after it, and checking that they are consistent
url_table    URL, host and depth of each page; the seen-set (URL -> page id) in a few bytes per
             page; the site of each host
importance   importance of pages as reports show it, and the gathered share of it
"""
