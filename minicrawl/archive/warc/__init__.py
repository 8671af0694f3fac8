"""Archived answers as web archives in WARC 1.1, which all replay software reads, and in WACZ.

capture   an answer as a WARC file has it, with facts about its page
writer    records of captures, each a gzip member, with heads adapted to the body
cdxj      the index of a file
wacz      WARC, index and pages in one ZIP, signed on demand
series    files that are written while a crawl runs
bodies    the bodies in them, which are not written again
earlier   bodies in earlier archives, which need not be written either
takedown  removes the records of URLs
"""
