"""Files with answers about a store.

rows             CSV, TSV and JSONL, the table of all writers, and suffixes of files
parquet          rows as Parquet
content_columns  columns with the contents of pages
sitemap          a sitemap of what search engines should know
drawings         graphs as GraphML, GEXF and DOT
figures          figures as PNG and SVG
graph_folder     a graph as a folder, for the tools of public web graphs
data_set         an export as a folder of files, with a manifest
data_card        its card
columnar_index   Common Crawl's index of its web archives
"""
