"""The store: one SQLite file. No other package except `archive` and `search` uses SQL.

schema         tables, schema version and migrations; views for people
records        rows as plain values; SQLite errors as one-line messages
blobs          compact encoding of spendings, a few bytes per link
writer         the only writing connection: batches and checkpoints; writing of merged stores
reader         paths of a store's files; connections that read while a crawl may be writing
tables         queries shared by writers and readers: rows as values, columns as arrays in blocks,
               and checks of all columns
questions      queries of the reports: pages, steps and requests
derived        derived data in a file beside the store: ranks, backlinks, topics
files          all files of a store, moved together; reading and replaying the write-ahead log, for
               replicas; results of link checks
lock           ensures that a store has one writer
samples        figures of a crawl over time, in the file of derived data
written_links  anchor texts and other link attributes, compressed in blocks of many pages
"""
