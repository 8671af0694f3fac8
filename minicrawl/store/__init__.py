"""The store: one SQLite file. No other package uses SQL.

schema/    the tables, their version and the migrations; views for people
records    rows as plain values
blobs      a spending in a few bytes for each link
writer     the one connection that writes: batches, checkpoints
reader     where a store is; connections that read, while a crawl may be writing
tables     queries by writers and readers: rows as values
columns    numbers of all pages, in blocks; and checks of all columns
questions  queries of the reports, about pages and steps
fetches    queries of the reports, about requests
trouble    errors of SQLite as messages of one line
beside     what lies in files beside the store: what is derived from it, and how all of it is moved
"""
