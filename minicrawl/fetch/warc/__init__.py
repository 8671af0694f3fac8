"""Answers that were recorded by anybody, in WARC files, instead of the network.

files      where records lie: in a file of their own, or in a WACZ file
members    the bytes of a file, decompressed member by member; damage costs the member that it hits
records    WARC records, whatever is wrong with their lengths
answers    what came of a request, from the record of its response
"""
