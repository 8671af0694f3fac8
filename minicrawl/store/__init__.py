"""The store: one SQLite file. No other package uses SQL.

schema     the tables, their version and the migrations
records    rows as plain values
blobs      a spending in a few bytes for each link
writer     the one connection that writes: batches, checkpoints
reader     where a store is; connections that read, while a crawl may be writing
tables     queries by writers and readers: rows as values
columns    numbers of all pages, in blocks; and checks of all columns
questions  queries of the reports, about pages and steps
fetches    queries of the reports, about requests
samples    figures of a crawl at some moments, in the file beside the store
files      all files of a store: their sizes, and how they are moved together
trouble    errors of SQLite as messages of one line
derived    what is derived from a store, in a file beside it: ranks, an index of links
"""
