"""Reports on a store: ranks, counts, reasons. They only read.

snapshot     the columns of all pages as of one moment: what every report begins with
status       the progress of a crawl
ranks        pages by importance, or by another rank
kept         the ranks that a store has
sites        sites by the cash that other sites give them
reasons      why a page has its rank and its state
errors       what failed or was refused
waiting      the unread pages in their order
changes      pages that are new, have changed or are gone
audit        is the store intact?
site_report  everything that the owner of a site may want to mend
archived/    what was fetched and kept
links/       links of pages, problems of links, graphs of links
live/        a crawl while it runs
search/      the search index: made, kept up to date, asked
"""
