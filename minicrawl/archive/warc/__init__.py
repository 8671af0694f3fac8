"""Archived answers as web archives in WARC 1.1, which all replay software reads, and in WACZ.

capture   an answer as a WARC file has it, with facts about its page
heads     heads of responses, adapted to the body that the file has
writer    records of captures, each a gzip member
cdxj      the index of a file
wacz      WARC, index and pages in one ZIP; wacz_key signs it
series    files that are written while a crawl runs
bodies    the bodies in them, which are not written again; those in an earlier archive
takedown  removes the records of URLs
"""
