"""What is done with a lease.

turn          the turn of a page, and the pure decision what to do with it
page_turns    ask, parse, settle
host_turns    a host is located and asked for its robots.txt before its first page
loop_rounds   pages that come at once do not hold up the loop
listed_pages  what a sitemap that is a page may list
large_pages   large pages, and pages with very many links, wait for one another
"""
