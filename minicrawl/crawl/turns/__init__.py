"""What is done with a lease.

turn        the turn of a page, and the pure decision what to do with it
page_turns  ask, parse, settle; large pages, and pages with very many links, wait for one another;
            pages that come at once do not hold up the loop; what a sitemap that is a page may
            list; a host is located and asked for its robots.txt before its first page
"""
