"""Search of a store: its pages are brought into an index, and found there.

page_reader   reads kept pages in processes that can be killed
index_folder  where the index is, who may write it, and whether it can be used
anchors       finds the pages that the words of links belong to
alike         finds near-duplicates
indexing      brings the index up to date
following     keeps the index up to date while a crawl runs
searching     finds pages
topics        ranks of topics, mixed for each query
judgements    what users said of results
agreement     how well a ranking does on all judged searches
"""
