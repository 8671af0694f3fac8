"""The link graph of a store, and the cash that flows along it.

flows      links of all pages in blocks, with or without their cash
top_sites  sites by the cash that other sites give them
source     the graph of an analysis: of a store, or of a graph file
"""
