"""A crawl, from the first page to the last.

The way of a page: schedule.dispatch leases it -> turn.decide says what to do with it -> page_turns
asks for it; workers do the request and parse -> settle.outcome -> settle.settler -> frontier.

loop         when turns begin, and when the crawl ends
turn         the turn of a page, and the decision what to do with it
page_turns   the turns of pages: ask -> parse -> settle
large_pages  pages that are much to read, or that bring much, have their turns one at a time
host_turns   the turns of hosts: their address, robots.txt and sitemaps, before the first page
parts        the parts that all of these share
schedule/    which page is next?
hosts/       when may this host be asked, and how?
traps/       is there no end of pages like this one?
workers/     which process does it?
settle/      what came of it, and what changes?
start/       how does a crawl begin, or resume?
events, progress              what listeners hear; how far the crawl has come
refinement, fresh_ranks       converged ranks beside the store; when they are computed
process_memory                memory of a long crawl
"""
