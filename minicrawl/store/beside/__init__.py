"""What lies beside a store, in files of its own.

derived  what can be made again: ranks, and an index of links
samples  figures of a crawl at some moments, in the same file
topics   the pages of topics whose ranks are kept, in the same file
checks   what came of links that are checked but not crawled
wal      the write-ahead log as bytes, for a replica of the store
lock     a store has one writer
files    all files of a store: their sizes, and how they are moved together
"""
