"""Take one page through its turn, from its lease until its end is settled.

page_turns    request, parse, settle, record; failures wait and try again
turn          state of a page while its turn is under way, or suspended between two leases
large_pages   lets large pages, and pages with very many links, wait for one another
turn_ends     looks up the links of a page, and ends its turn
listed_pages  URLs that sitemaps may list, if these are pages
"""
