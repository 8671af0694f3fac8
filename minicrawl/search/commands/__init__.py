"""`minicrawl search` and `minicrawl index`.

search_command   full-text search of kept pages
index_command    prepares it
page_options     a search page, to serve or to write
"""
