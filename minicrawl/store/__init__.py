"""The store: one SQLite file. No other package except `archive` and `search` uses SQL.

schema        tables, schema version and migrations; views for people
records       rows as plain values; SQLite errors as one-line messages
stored_links  links as bytes: a few for each link, and their texts in blocks of many pages
writer        the only writing connection: its lock, batches and checkpoints
reader        paths of a store's files; connections that read while a crawl may be writing; queries
              that users write
tables        queries shared by writers and readers: rows as values, columns as arrays in blocks,
              and checks of all columns
questions     queries of the reports: pages, steps and requests
derived       derived data in a file beside the store: ranks, backlinks, topics, checks, samples
files         all files of a store, moved together; the write-ahead log, read and replayed
"""
