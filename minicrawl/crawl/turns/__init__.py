"""Turns: what is done with a leased page.

turn        turn of a page, and the pure decision what to do with it
page_turns  requests, parses and settles a page; queues large pages and pages with very many links;
            yields to the loop when many pages arrive at once; checks the links of sitemaps that are
            pages; locates a host and requests its robots.txt before its first page
"""
