"""The store: one SQLite file. No other package uses SQL.

schema     the tables, their version and the migrations; views for people
records    rows as plain values; errors of SQLite as messages of one line
blobs      a spending in a few bytes for each link
writer     the one connection that writes: batches, checkpoints
reader     where a store is; connections that read, while a crawl may be writing
tables     queries by writers and readers: rows as values; numbers of all pages, in blocks; and
           checks of all columns
questions  queries of the reports, about pages and steps; queries of the reports, about requests
derived    what can be made again: ranks, and an index of links; the pages of topics whose ranks
           are kept, in the same file
files      all files of a store: their sizes, and how they are moved together; the write-ahead log
           as bytes, for a replica of the store; what came of links that are checked but not
           crawled
lock       a store has one writer
samples    figures of a crawl at some moments, in the same file
"""
