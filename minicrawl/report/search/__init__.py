"""Search of a store: its pages are brought into an index, and found there.

page_reader  reads kept pages in processes that can be killed
indexing     brings the index up to date; where the index is, who may write it, and whether it can
             be used; keeps the index up to date while a crawl runs; finds the pages that the
             words of links belong to; ranks of topics, mixed for each query
searching    finds pages; finds near-duplicates
judgements   what users said of results; how well a ranking does on all judged searches
"""
