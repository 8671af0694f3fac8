"""The store: one SQLite file, and the only part that speaks SQL.

schema     the tables, their version and the migrations
records    what goes in and comes out, as plain values
blobs      spendings as a few bytes a link
writer     the one connection that writes: batches, checkpoints
reader     connections that read, while a crawl may be writing
tables     what is in the tables, as values
columns    numbers of all pages, in blocks
questions  what the reports ask of all of it
beside     what was derived from a store, in a file of its own
ranks      ranks by their names, in that file
trouble    what SQLite complains of, in one line
"""
