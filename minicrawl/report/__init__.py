"""Questions about a store, and files with the answers. Only derived data beside it is written.

snapshot         a store as of one moment, the basis of every report
saved_ranks      its importance, and the other ranks kept beside it
selected_pages   pages by a rank, as rows
selected_graph   their links, as a graph
waiting_pages    unread pages in the order of reading
crawl_log        the log of requests, with the columns of Heritrix
near_duplicates  pages with nearly the same text, as the search index found them

states      what became of pages, and why
links       links of pages: verdicts, backlinks, problems, as written
graph       the link graph, and the cash along it
archived    pages that were kept
progress    a crawl, finished or running
files       formats of files and folders
site        a report on a site, a crawl as a picture
integrity   the check of a store
"""
