"""Questions about a store, and the files with their answers. They only read.

snapshot        a store as of one moment, the basis of every report; ranks kept beside it
selected_pages  pages by a rank, as rows and as a graph
store_graph     links of all pages, the cash along them, and the graph of an analysis
page_links      backlinks; broken links, redirects, orphans, duplicates; links with their texts
page_states     failures, changes, and why a page has its rank and state
archived_pages  archived pages, and the resources that they need for display
page_texts      processes that parse archived pages, and can be killed
crawl_status    progress of a crawl, its samples, its busiest hosts, what it has stored
sampling        samples of a running crawl, and those recomputed from its log
site_report     a report on a site as HTML, a crawl as a picture
audit           integrity check of a store
formats         CSV, TSV, JSONL, Parquet; GraphML, GEXF, DOT; figures as PNG
"""
