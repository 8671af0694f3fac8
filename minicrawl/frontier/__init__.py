"""The frontier: all pages in memory, as a fold over the steps that the store keeps.

known   URL -> page id, in a few bytes a page
pages   the books, and what must be quick of each page
"""
