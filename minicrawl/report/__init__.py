"""Reports on a store: ranks, counts, reasons. They only read.

snapshot          columns of all pages as of one moment, the basis of every report
status            progress of a crawl; hosts that mirror others
ranks             pages by importance, or by another rank
kept              the ranks that a store has
changes           pages that are new, changed or gone; replay of the log; sites by the cash that
                  other sites give them; unread pages in their order
errors            pages that failed or were refused; why a page has its rank and state
audit             integrity check of a store
site_report       everything that the owner of a site may want to fix
archived          archived pages, and the resources that they need for display
links             backlinks, cash received, links with their texts
live              a crawl while it runs: activity, and growth of its graph
source            the graph of a store or of a graph file, with node names
near_duplicates   table of near-duplicate pages, written by the search index
page_texts        texts that packages make of kept pages
killable          the process in which foreign bytes are parsed, which can be killed
figures           figures as PNG and CSV; a crawl in one picture
flows             the links of all pages, with the cash on each
link_graphs       the graph of pages or hosts, for files
problems          broken links, redirects, orphans, duplicates
sampling          samples of a running crawl's figures; samples recomputed from its log
sampling_process  starts the sampling process, and reads its last sample
"""
