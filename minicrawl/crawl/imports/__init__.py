"""Make stores without a network: of WARC files, and of a graph.

warc_import   makes a store of WARC files: a crawl whose responses are read from them
graph_import  writes the store of a crawl that read every page of a graph once

Law: the store gets its name when it is complete, and no store is overwritten.
"""
