"""Recorded responses from WARC files of any origin, in place of the network.

files    where records are: in a file of their own, or in a WACZ file
members  the bytes of a file, decompressed member by member; damage is limited to its member
records  WARC records, tolerating wrong lengths
verification  digests, lengths and references of records, and indexes of them
answers  the outcome of a request, from the record of its response
"""
