"""Questions about a store, and files with the answers. Only derived data beside it is written.

snapshot        a store as of one moment, the basis of every report; ranks kept beside it
selected_pages  pages by a rank, as rows and as a graph
store_graph     links of all pages, the cash along them, and the graph of an analysis
page_links      verdicts on targets, backlinks; broken links, redirects; written links
cuts            pages that a limit cut off
page_states     failures, changes, and why a page has its rank and state
archived_pages  archived pages and the resources they need
page_texts      processes that parse archived pages, and can be killed
crawl_status    progress of a crawl, its samples, its busiest hosts, what it has stored
sampling        samples of a running crawl, and those recomputed from its log
site_report     a report on a site as HTML, a crawl as a picture
audit           integrity check of a store
formats         rows, graphs and figures as files (further: folders)
crawl_log       the log of requests, how pages were found, counts by type and host
"""
