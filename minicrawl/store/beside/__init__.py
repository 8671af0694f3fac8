"""What lies beside a store, in files of its own.

derived  what can be made again: ranks, and an index of links
samples  figures of a crawl at some moments, in the same file
files    all files of a store: their sizes, and how they are moved together
"""
