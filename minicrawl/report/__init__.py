"""Reports on a store: ranks, counts, reasons. They only read.

snapshot          the columns of all pages as of one moment: what every report begins with
status            the progress of a crawl
ranks             pages by importance, or by another rank
kept              the ranks that a store has
changes           pages that are new, have changed or are gone; sites by the cash that other sites
                  give them; the unread pages in their order
errors            what failed or was refused; why a page has its rank and its state
audit             is the store intact?
site_report       everything that the owner of a site may want to mend
archived          what kept pages need to be shown
links             links of pages, problems of links, graphs of links
live              a crawl while it runs
source            the graph of a store or of a graph file, with its names
near_duplicates   the table of pages that are alike, which the search index leaves
figures           figures as PNG and CSV; a crawl in one picture
flows             the links of all pages, with the cash on each
link_graphs       the graph of pages or hosts, for files
problems          broken links, redirects, orphans, duplicates
sampling          samples of its figures, by a process of its own; the same for a crawl that
                  nobody watched, made again from its log
sampling_process  starts that process, and reads its last sample
"""
